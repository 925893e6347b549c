/* Stacks that begin with a path of functions. */
#pragma once

#include "model/model.h"

/* Drops every row whose stack does not begin with these functions at the root. */
enum err profile_keep_path(struct profile *p, const struct str *path, size_t n) MUST_CHECK;
