/*
 * Small JSON responses of a server, of which a command needs a few numbers. Functions print errors
 * and return an exit status.
 */
#pragma once

#include "format/format.h"

/* The number `key` of the outermost object; 0 if missing. */
int answer_number(const struct buf *answer, const char *key, int64_t *ret);
/* Prints it unchanged, with a newline. */
int answer_print(struct buf *answer);

/* Finishes reading a response. */
int answer_read(struct json *j, const struct reading *r);

struct answer_field {
	const char *key;
	int64_t value;	/* numbers; true is 1 */
	char text[400]; /* a string, truncated to fit */
};
/* Fills the values of all fields that exist; the list ends with a field without a key. */
int answer_fields(const struct buf *answer, struct answer_field *fields);
