#include "sdk/span_ends.h"

#include "sdk/sample_slots.h"

enum { FREE, BEING_FILLED, FILLED };

static struct {
	atomic_int state;
	struct span_end end;
} places[SPAN_ENDS_MAX];
static atomic_uint next;

atomic_bool span_ends_wanted;

void span_ends_add(const struct span_end *e)
{
	unsigned start = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

	/* Limit the search in a full table, because it delays the program. */
	for (unsigned i = 0; i < 32; i++) {
		unsigned at = (start + i) % SPAN_ENDS_MAX;
		int expected = FREE;

		if (!atomic_compare_exchange_strong(&places[at].state, &expected, BEING_FILLED))
			continue;
		places[at].end = *e;
		atomic_store_explicit(&places[at].state, FILLED, memory_order_release);
		return;
	}
	sample_lost();
}

u32 span_ends_take(struct span_end *ret, u32 max)
{
	u32 n = 0;

	for (unsigned i = 0; i < SPAN_ENDS_MAX && n < max; i++) {
		if (atomic_load_explicit(&places[i].state, memory_order_acquire) != FILLED)
			continue;
		ret[n++] = places[i].end;
		atomic_store_explicit(&places[i].state, FREE, memory_order_release);
	}
	return n;
}

void span_ends_reset(void)
{
	for (unsigned i = 0; i < SPAN_ENDS_MAX; i++)
		atomic_store(&places[i].state, FREE);
}
