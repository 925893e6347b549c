#include "agent/capture_internal.h"
#include "base/clock.h"

/* Records are handled soon after they are written; the end of a turn comes after its samples. */
#define TURN_LIFE_NS	 ((u64)2 * NS_PER_S)
/* An unfinished turn is reported from this length on, at which it would certainly be sampled. */
#define OPEN_TURN_MIN_NS ((u64)100 * NS_PER_MS)

enum err capture_add_turn(struct capture *c, const struct record_head *head, const struct sample *s)
{
	double p = capture_kept(head);
	u64 told = turns_told(&c->turns, head->tid, head->turn);
	double length = (double)(head->value > told ? head->value - told : 0) / p;
	struct sample own = *s;
	bool seen;

	own.wait_state = turn_bucket(head->value);
	own.syscall = -1;
	TRY(turns_share(&c->turns, &c->collector, head->tid, head->turn, length, own.wait_state,
			&seen));
	/* The number of turns, and turns without samples, are attributed to the loop itself. */
	return collector_add(&c->collector, &own, seen ? 0 : length, 1 / p);
}

static u64 now_in(void *context, u32 tid)
{
	const struct capture *c = context;

	return kernel_turn(c->kernel, tid);
}

enum err capture_open_turns(struct capture *c)
{
	u64 now = (u64)clock_monotonic_ns();

	for (size_t i = 0; i < c->turns.list.n; i++) {
		const struct turn_sample *one = &c->turns.list.v[i];
		u32 tid = one->tid;
		u64 turn = one->turn, told;
		bool seen;

		if (one->used || now < turn + OPEN_TURN_MIN_NS || now_in(c, tid) != turn)
			continue;
		told = turns_told(&c->turns, tid, turn);
		TRY(turns_share(&c->turns, &c->collector, tid, turn, (double)(now - turn - told),
				turn_bucket(now - turn), &seen));
		TRY(turns_tell(&c->turns, tid, turn, now - turn));
	}
	return ERR_OK;
}

enum err capture_settle_turns(struct capture *c)
{
	return turns_settle(&c->turns, c->now - TURN_LIFE_NS, c, now_in);
}
