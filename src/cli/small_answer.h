/*
 * Small answers of a server: JSON objects of which a command wants a few numbers. Functions return
 * an exit status and have said why when it is not EXIT_OK.
 */
#pragma once

#include "format/format.h"

/* The number under `key` of the outermost object; 0 when there is none. */
int answer_number(const struct buf *answer, const char *key, int64_t *ret);
/* As it came, with a line end. */
int answer_print(struct buf *answer);

/* Ends the reading of an answer. */
int answer_read(struct json *j, const struct reading *r);

struct answer_field {
	const char *key;
	int64_t value;	/* numbers; true is 1 */
	char text[400]; /* what is a text, cut to fit */
};
/* Fills the values of all fields that are there; the list ends with a field without a key. */
int answer_fields(const struct buf *answer, struct answer_field *fields);
