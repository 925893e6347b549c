/*
 * Private to src/store: zstd with contexts that are kept for the next call, by whatever thread.
 */
#pragma once

#include "base/buf.h"

/* Appends `plain` packed; the frame says how long it is. */
enum err pack(struct str plain, int level, struct buf *out) MUST_CHECK;
/* Into `ret`, which has room for exactly the `plain` bytes that must come out. */
enum err unpack(struct str packed, char *ret, size_t plain) MUST_CHECK;
