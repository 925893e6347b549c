/*
 * Names of C++ and Rust can be a thousand characters long, most of them arguments of templates and
 * types of parameters. On a line that is too short for them, those go first: what remains tells
 * more than the begin and the end of the whole.
 */
#pragma once

#include "base/buf.h"

/* The name with "<…>" and "(…)" where it has arguments. */
void text_fold(struct buf *out, struct str name);
