/*
 * What a window lacks, by process and cause, and how it becomes profiles of completeness
 * (model/completeness.h) beside those of the window. One thread uses it.
 */
#pragma once

#include "agent/budget.h"
#include "agent/window.h"

struct loss {
	struct loss_key key; /* pid 0: nobody's, shared out among all */
	double count, value;
	char comm[16];
};

struct losses {
	VEC(struct loss) list;
	double totals[LOSS_KERNEL_SIDE_CAUSES]; /* samples since the start */
};

void losses_release(struct losses *l);
/* Without memory it is counted for process 0, at last not at all. */
void losses_add(struct losses *l, const struct loss *one);
/* A record the agent itself has no room for: what it stood for is lost. */
void losses_add_record(struct losses *l, const struct record_head *head);

/* Moves all but the totals to `to`, which has been told. */
void losses_take(struct losses *from, struct losses *to);

/* How the window was measured. */
struct losses_window {
	const struct window *window;
	const struct budget_state *budget;
	unsigned asked, had; /* enum capture_types: as wanted, and as the kernel allows */
	u64 wait_mean_ns;    /* threshold of off-CPU samples at the lowest level */
	double clockless;    /* part of the CPUs that have no clock */
	struct processes *processes;
	const uint32_t *unread; /* mappings whose file ended the process that read its symbols */
	size_t unread_count;
};

/*
 * Adds profiles of completeness to those of the window: what was lost, what was off or lowered and
 * for how long, and that somebody looked. Forgets the losses. What the profiles hold is told later,
 * request by request (completeness_of_profiles).
 */
enum err losses_profiles(struct losses *l, const struct losses_window *w, struct dict *d,
			 struct profile_list *list) MUST_CHECK;
const char *loss_cause_text(enum loss_cause cause);
