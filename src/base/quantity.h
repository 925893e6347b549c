/*
 * Parses durations and sizes of command lines and settings files.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* "1h", "90s", "1h30m", "250ms", "14d", "2w"; a bare number is seconds. Not negative. */
enum err duration_parse(struct str text, int64_t *ret_ns, struct fault *fault) MUST_CHECK;
/* "64K", "512MiB", "1G" or plain bytes. */
enum err size_parse(struct str text, size_t *ret) MUST_CHECK;
