/*
 * Parses points in time; durations are in base/quantity.h.
 */
#pragma once

#include "base/quantity.h"

/*
 * "now", "now-1h30m", "-1h", "2026-11-15", "2026-11-15T10:00:00Z" (with fraction and offset), or a
 * number: of 13 digits milliseconds, of 16 microseconds, of 19 nanoseconds, else seconds (a
 * fraction is kept).
 */
enum err when_parse(struct str text, int64_t now_ns, int64_t *ret_ns,
		    struct fault *fault) MUST_CHECK;
