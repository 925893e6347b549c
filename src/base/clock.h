/*
 * Time in integer nanoseconds, of the monotonic clock (for measuring) or the calendar (for
 * display). Calendar time counts from 1970-01-01T00:00:00Z and may be negative.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL

int64_t clock_monotonic_ns(void);
int64_t clock_wall_ns(void);
/* How long the machine was suspended since it started; the monotonic clock leaves that out. */
int64_t clock_suspended_ns(void);
/* CPU time this process has used. */
int64_t clock_process_cpu_ns(void);
/* CPU time of the calling thread. */
int64_t clock_thread_cpu_ns(void);
/* Sleeps for the full time, even if signals arrive. */
void clock_sleep_ns(int64_t ns);

/* "2026-01-31T12:00:00.123456789Z" and its NUL. */
#define CLOCK_TEXT_SIZE 40

/*
 * RFC 3339 in UTC, with `digits` (0 to 9) fractional digits of the second, truncated. Returns
 * `text`.
 */
char *clock_format(int64_t wall_ns, int digits, char text[CLOCK_TEXT_SIZE]);
/*
 * RFC 3339 with Z or an offset, years 1678 to 2261 (what 64 bits of nanoseconds hold). Anything
 * else is ERR_CORRUPT.
 */
enum err clock_parse(struct str text, int64_t *ret_wall_ns) MUST_CHECK;
