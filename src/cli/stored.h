/*
 * Profiles a server has stored, in place of files: an argument such as checkout{commit="abc123"} or
 * {env="prod"} that is not the name of a file.
 */
#pragma once

#include "cli/input.h"

bool stored_is_selector(const char *name);
/* Whether a name that is no file may have been meant as a service. */
bool stored_may_be_service(const char *name);
/* A file, standard input or a URL: what is read as it is. */
bool stored_is_elsewhere(const char *name);
/* The selector of a service, "checkout{}", in the arena; a selector stays as it is. NULL when there
 * is no memory. */
const char *stored_selector(const char *name, struct arena *arena);
/* The parameters that say which time: --from and --until, else --time-range. */
void stored_window(const struct input_options *o, struct call *c);
/* The pprof file of a selector. Returns an exit status and has said why when it is not EXIT_OK. */
int stored_fetch(const struct input_options *o, const char *selector, const char *type,
		 struct buf *ret);
