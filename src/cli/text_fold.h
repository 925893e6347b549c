/*
 * Names of C++ and Rust functions can be a thousand characters long, mostly template arguments and
 * parameter types. If a line is too short, these are removed first: the rest is more useful than
 * the beginning and the end of the full name.
 */
#pragma once

#include "base/buf.h"

/* Replaces the arguments in a name by "<…>" and "(…)". */
void text_fold(struct buf *out, struct str name);
