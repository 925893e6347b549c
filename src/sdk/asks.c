#include "sdk/asks.h"

#include "base/clock.h"
#include "sdk/answers.h"
#include "sdk/background_state.h"
#include "sdk/sampling.h"

enum { FREE, ASKED, TAKEN, ANSWERED, DROPPED };

static struct ask places[ASKS_MAX];

/* ------------------------------------------------------------------ who asks */

struct ask *ask_place(u32 number)
{
	return &places[number];
}

bool ask_is_free(const struct ask *a)
{
	return atomic_load(&a->state) == FREE;
}

void ask_send(struct ask *a)
{
	a->error = ERR_OK;
	a->answer = BUF_INIT(0);
	atomic_store(&a->state, ASKED);
	background_ring();
}

bool ask_is_answered(const struct ask *a)
{
	return atomic_load(&a->state) == ANSWERED;
}

void ask_drop(struct ask *a)
{
	int state = atomic_load(&a->state);

	while (state == ASKED || state == TAKEN)
		if (atomic_compare_exchange_weak(&a->state, &state, DROPPED))
			return;
	if (state != ANSWERED)
		return;
	buf_release(&a->answer);
	atomic_store(&a->state, FREE);
}

/* ------------------------------------------------------------------ who answers */

static bool begin_capture(struct intake *in, struct ask *a)
{
	for (u32 i = 0; i < CAPTURES_MAX; i++) {
		if (in->captures[i])
			continue;
		tally_init(&a->capture, in->settings->max_rows);
		in->captures[i] = &a->capture;
		a->start = clock_monotonic_ns();
		a->start_wall = clock_wall_ns();
		a->until = a->start + (int64_t)a->seconds * NS_PER_S;
		if (a->types & SDK_CPU)
			sampling_demand(true);
		return true;
	}
	return false;
}

/* Harmless for one that has not begun. */
static void end_capture(struct intake *in, struct ask *a)
{
	for (u32 i = 0; i < CAPTURES_MAX; i++) {
		if (in->captures[i] != &a->capture)
			continue;
		in->captures[i] = NULL;
		tally_release(&a->capture);
		if (a->types & SDK_CPU)
			sampling_demand(false);
	}
}

static void begin(struct background *b, struct ask *a)
{
	int expected = ASKED;

	if (!atomic_compare_exchange_strong(&a->state, &expected, TAKEN))
		return;
	a->until = 0;
	if (a->kind == ASK_CAPTURE && !begin_capture(&b->intake, a))
		a->error = ERR_EXISTS;
}

static void answer(struct background *b, struct ask *a)
{
	int expected = TAKEN;

	a->answer = BUF_INIT(b->settings.max_bytes);
	if (!a->error)
		a->error = answer_ask(b, a);
	end_capture(&b->intake, a);
	if (!atomic_compare_exchange_strong(&a->state, &expected, ANSWERED)) {
		buf_release(&a->answer);
		atomic_store(&a->state, FREE);
	}
}

void asks_turn(struct background *b, bool last)
{
	int64_t now = clock_monotonic_ns();

	for (u32 i = 0; i < ASKS_MAX; i++) {
		struct ask *a = &places[i];

		if (atomic_load(&a->state) == ASKED)
			begin(b, a);
		if (atomic_load(&a->state) == TAKEN && (last || a->error || now >= a->until))
			answer(b, a);
		if (atomic_load(&a->state) == DROPPED) {
			end_capture(&b->intake, a);
			atomic_store(&a->state, FREE);
		}
	}
}

/* The child does not answer requests to its parent. */
void asks_after_fork(void)
{
	for (u32 i = 0; i < ASKS_MAX; i++)
		places[i] = (struct ask){0};
}
