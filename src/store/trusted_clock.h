/*
 * The clock of retention.
 *
 * The wall clock is set by administrators and NTP, and may be wrong. The machine's monotonic clock
 * is reliable. So the wall clock is trusted while it advances like the monotonic clock, and:
 *
 *	jump	an hour or more that neither running nor suspension explains: the clock is not
 *		trusted, and nothing is deleted by age, until the clock is right again or an
 *		operator confirms that it is
 *	gap	time in which the machine was off or suspended, which was not measured. It does
 *		not age data: older data is kept that much longer, never less long.
 *
 * The state is recorded (trusted_clock_write) to survive restarts: within one boot of the machine
 * the monotonic clock continues, and a jump is detected; after another boot the time since the
 * record is a gap.
 *
 * Thread safe. Nothing here allocates, except the text of a record.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/thread.h"
#include "store/store.h"

#define CLOCK_GAPS_MAX 64

struct time_gap {
	int64_t from_ns, until_ns;
};

struct trusted_clock {
	int64_t (*wall_ns)(void), (*steady_ns)(void), (*asleep_ns)(void);
	struct mutex lock;
	char boot[48];
	/* Trusted time = steady + offset. */
	_Atomic(int64_t) offset_ns;
	int64_t anchor_ns;	/* steady time since which the offset holds */
	int64_t asleep_seen_ns; /* suspension that the offset contains */
	enum store_clock_trust trust;
	int64_t off_by_ns, since_ns;
	struct time_gap gaps[CLOCK_GAPS_MAX];
	size_t gap_count;
	/* After another boot: the clock may still be set right, and the last gap is provisional. */
	bool settling;
	int64_t record_ns, start_ns;
	size_t settled_gaps;
};

/* NULL clocks = the machine's. */
void trusted_clock_init(struct trusted_clock *c, const struct store_options *o);
void trusted_clock_release(struct trusted_clock *c);

/* Continues from a record; an invalid record is ERR_CORRUPT and changes nothing. */
enum err trusted_clock_read(struct trusted_clock *c, struct str record) MUST_CHECK;
/* Continues from the time of the newest data if there is no record. */
void trusted_clock_resume_from(struct trusted_clock *c, int64_t newest_ns);
enum err trusted_clock_write(struct trusted_clock *c, struct buf *out) MUST_CHECK;

/* Compares the clocks; true if trust has changed. */
bool trusted_clock_look(struct trusted_clock *c, struct store_clock_state *ret);
/* The result of the last comparison. */
void trusted_clock_peek(struct trusted_clock *c, struct store_clock_state *ret);
/* Confirms the wall clock: it is trusted from now on, and gaps count. */
void trusted_clock_confirm(struct trusted_clock *c);

/* Measured time since then, at least; 0 if it is in the future. */
int64_t trusted_clock_age(struct trusted_clock *c, int64_t time_ns);
/* The earlier and the later of wall clock and trusted time. */
void trusted_clock_bounds(const struct trusted_clock *c, int64_t *ret_low_ns, int64_t *ret_high_ns);
/* Drops gaps that end before this time. */
void trusted_clock_forget(struct trusted_clock *c, int64_t before_ns);
