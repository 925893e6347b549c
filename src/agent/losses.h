/*
 * Samples lost in a window, by process and cause, and their conversion to completeness profiles
 * (model/completeness.h). Used by one thread.
 */
#pragma once

#include "agent/budget.h"
#include "agent/window.h"

struct loss {
	struct loss_key key; /* pid 0: unknown process, divided among all */
	double count, value;
	char comm[16];
};

struct losses {
	VEC(struct loss) list;
	double totals[LOSS_KERNEL_SIDE_CAUSES]; /* samples since the start */
};

void losses_release(struct losses *l);
/* Without memory it is counted for process 0, or not at all. */
void losses_add(struct losses *l, const struct loss *one);
/* Adds a record for which the agent has no room, with its weight. */
void losses_add_record(struct losses *l, const struct record_head *head);

/* Moves all but the totals to `to`, whose previous losses were already reported. */
void losses_take(struct losses *from, struct losses *to);

/* How the window was measured. */
struct losses_window {
	const struct window *window;
	const struct budget_state *budget;
	unsigned asked, had; /* requested types; types that the kernel allows */
	u64 wait_mean_ns;    /* threshold of off-CPU samples at the lowest level */
	double clockless;    /* share of the CPUs without a sampling timer */
	struct processes *processes;
	const uint32_t *unread; /* mappings whose file crashed the symbol worker */
	size_t unread_count;
};

/*
 * Adds completeness profiles to those of the window: what was lost, what was off or lowered and for
 * how long, and that the window was observed. Clears the losses. Kept samples are added later, per
 * request (completeness_of_profiles).
 */
enum err losses_profiles(struct losses *l, const struct losses_window *w, struct dict *d,
			 struct profile_list *list) MUST_CHECK;
const char *loss_cause_text(enum loss_cause cause);
