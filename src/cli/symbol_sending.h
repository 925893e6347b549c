/* Sends programs and debug files to a server, in parts. */
#pragma once

#include "base/vec.h"
#include "cli/client.h"
#include "symbols/symbols.h"

struct symbol_sending {
	const struct common_options *common;
	const struct client_options *client;
	bool again; /* also files that the server already has */
	VEC(struct symbol_item) there;
	uint64_t sent, skipped;
};

/* Fetches the server's list of files. All functions print errors and return an exit status. */
int symbol_sending_begin(struct symbol_sending *s);
void symbol_sending_release(struct symbol_sending *s);
/* A file, or all programs and debug files below a folder. */
int symbol_sending_path(struct symbol_sending *s, const char *path);
/* Parses the server's list of files. */
int symbol_list_read(const struct buf *answer, struct symbol_sending *ret);
