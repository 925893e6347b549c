/*
 * What the parts of the JSON cursor share: json.c (structure), json_string.c and
 * json_number.c. Private to them.
 */
#pragma once

#include "format/json.h"

static inline void json_space(struct json *j)
{
	while (j->p < j->end && (unsigned char)*j->p <= ' ' &&
	       (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

/* Fails with "expected …, found …"; names the usual mistakes. */
enum err json_wrong(struct json *j, const char *expected);
/* Takes a null when there is one. */
bool json_null(struct json *j);
/* Past a string, without decoding it and without a limit on its length. */
void json_skip_string(struct json *j);
