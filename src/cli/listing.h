/*
 * Shared by labels, services and types: requests that return a list.
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

/* Sends the request and returns the server's JSON. `step` is appended to the path, or NULL. */
int list_ask(const struct list_options *o, const char *path, const char *step, struct buf *answer);
/* Sends the request and prints the strings of the array `key`, one per line; with --json the whole
 * response. */
int list_print(const struct list_options *o, const char *path, const char *step, const char *key);
