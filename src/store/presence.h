/*
 * Private to src/store: points of a time line over a whole range, as many as a chart shows.
 */
#pragma once

#include <stdint.h>

/* Width of the points of a time line over so long a time: at most about 240 of them. */
int64_t presence_step(int64_t span_ns);
