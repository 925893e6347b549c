/*
 * Private to src/store: zstd with a pool of contexts, shared by all threads.
 */
#pragma once

#include "base/buf.h"

/* Appends `plain` compressed; the frame contains its size. */
enum err pack(struct str plain, int level, struct buf *out) MUST_CHECK;
/* Decompresses into `ret`; the result must have exactly `plain` bytes. */
enum err unpack(struct str packed, char *ret, size_t plain) MUST_CHECK;
