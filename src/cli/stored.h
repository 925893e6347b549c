/*
 * Profiles stored by a server as inputs: an argument such as checkout{commit="abc123"} or
 * {env="prod"} that is not the name of a file.
 */
#pragma once

#include "cli/input.h"

bool stored_is_selector(const char *name);
/* Whether a name that is no file may be the name of a service. */
bool stored_may_be_service(const char *name);
/* Whether it is a file, standard input or a URL. */
bool stored_is_elsewhere(const char *name);
/* The selector of a service, "checkout{}", in the arena; a selector is returned unchanged. NULL if
 * out of memory. */
const char *stored_selector(const char *name, struct arena *arena);
/* Adds the parameters of the time range: --from and --until, else --time-range. */
void stored_window(const struct input_options *o, struct call *c);
/* Fetches the pprof file of a selector. Prints errors and returns an exit status. */
int stored_fetch(const struct input_options *o, const char *selector, const char *type,
		 struct buf *ret);
