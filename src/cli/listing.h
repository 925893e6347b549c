/*
 * What labels, services and types share: a question that is answered with a list.
 */
#pragma once

#include "cli/client.h"

struct list_options {
	struct common_options common;
	struct client_options client;
	const char *query, *type, *from, *until;
	bool json;
};
extern const struct option list_table[];
extern const struct option_group list_groups[];

/* Asks; the answer is the server's JSON. `step` is one more step of the path, or NULL. */
int list_ask(const struct list_options *o, const char *path, const char *step, struct buf *answer);
/* Asks and prints the texts of the array `key`, one a line; with --json all of the answer. */
int list_print(const struct list_options *o, const char *path, const char *step, const char *key);
