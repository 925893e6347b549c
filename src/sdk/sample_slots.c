#include "sdk/sample_slots.h"

#include "sdk/own_pages.h"

#define SLOTS	   2048u
/* So many are too many to wait for the next turn. */
#define SLOTS_MANY (SLOTS / 2)
/* Those of the first moments, while tables are made; on a busy machine that takes its time. */
#define RAW_SLOTS  256u

#define PREFETCH_FRAMES 24

enum { FREE, BEING_FILLED, FILLED };

/* One for the process, as signal handlers are. Memory is the system's and is never given back: a
 * handler that is late may still write. */
static struct {
	struct taken_sample *slots;
	struct raw_stack *raw;
	atomic_uint next;
	atomic_uint used; /* slots from here on were never claimed */
	atomic_uint_least64_t lost;
	void (*tell)(void); /* that there are many */
} pool;

void sample_slots_set_many(void (*tell)(void))
{
	pool.tell = tell;
}

bool sample_slots_open(void)
{
	if (!pool.slots)
		pool.slots = own_pages(SLOTS * sizeof(*pool.slots));
	if (!pool.raw)
		pool.raw = own_pages(RAW_SLOTS * sizeof(*pool.raw));
	return pool.slots && pool.raw;
}

static void note_used(unsigned n)
{
	unsigned used = atomic_load_explicit(&pool.used, memory_order_relaxed);

	while (used < n && !atomic_compare_exchange_weak(&pool.used, &used, n))
		;
}

/* Low slots first: what is seldom needed stays untouched and costs no memory. */
struct taken_sample *sample_claim(u8 kind)
{
	unsigned start = atomic_load_explicit(&pool.next, memory_order_relaxed);

	for (unsigned i = 0; pool.slots && i < SLOTS; i++) {
		struct taken_sample *s = &pool.slots[(start + i) % SLOTS];
		int expected = FREE;

		if (atomic_load_explicit(&s->state, memory_order_relaxed) == FREE &&
		    atomic_compare_exchange_strong(&s->state, &expected, BEING_FILLED)) {
			atomic_store_explicit(&pool.next, start + i + 1, memory_order_relaxed);
			note_used((start + i) % SLOTS + 1);
			if ((start + i) % SLOTS == SLOTS_MANY && pool.tell)
				pool.tell();
			s->kind = kind;
			s->end = s->from_call = s->settled = 0;
			s->thread_state = 0;
			s->frame_count = s->thread = s->record = 0;
			s->count = s->value = 0;
			s->time_ns = 0;
			s->object = s->serial = 0;
			s->context = (struct span_context){0};
			s->raw = NULL;
			return s;
		}
		/* A full pool is not searched to its end in a signal handler. */
		if (i == 32)
			break;
	}
	return NULL;
}

void sample_lost(void)
{
	atomic_fetch_add_explicit(&pool.lost, 1, memory_order_relaxed);
}

void sample_publish(struct taken_sample *s)
{
	atomic_store_explicit(&s->state, FILLED, memory_order_release);
}

void raw_stack_free(struct raw_stack *r)
{
	if (r)
		atomic_store_explicit(&r->state, FREE, memory_order_release);
}

void sample_abandon(struct taken_sample *s)
{
	raw_stack_free(s->raw);
	atomic_store_explicit(&s->state, FREE, memory_order_release);
}

struct raw_stack *raw_stack_claim(void)
{
	for (unsigned i = 0; pool.raw && i < RAW_SLOTS; i++) {
		struct raw_stack *r = &pool.raw[i];
		int expected = FREE;

		if (atomic_load_explicit(&r->state, memory_order_relaxed) == FREE &&
		    atomic_compare_exchange_strong(&r->state, &expected, BEING_FILLED))
			return r;
	}
	return NULL;
}

/* The slot was written by another CPU: prefetch the part that most slots use while the previous one
 * is processed. Prefetching after the last one does no harm. */
static void prefetch(const struct taken_sample *s)
{
	const char *p = (const char *)s;

	for (size_t i = 0; i < offsetof(struct taken_sample, frames[PREFETCH_FRAMES]); i += 64)
		__builtin_prefetch(p + i);
}

void sample_slots_drain(bool raw, void (*each)(void *context, const struct taken_sample *s),
			void *context)
{
	unsigned used = atomic_load_explicit(&pool.used, memory_order_acquire);

	for (unsigned i = 0; i < used; i++) {
		struct taken_sample *s = &pool.slots[i];

		prefetch(s + 1);
		if (atomic_load_explicit(&s->state, memory_order_acquire) != FILLED ||
		    (s->raw != NULL) != raw)
			continue;
		each(context, s);
		sample_abandon(s);
	}
	/* The next ones begin at the front again. */
	atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
}

u64 sample_slots_lost(void)
{
	return atomic_load_explicit(&pool.lost, memory_order_relaxed);
}

void sample_slots_reset(void)
{
	for (unsigned i = 0; i < atomic_load(&pool.used); i++)
		atomic_store(&pool.slots[i].state, FREE);
	for (unsigned i = 0; pool.raw && i < RAW_SLOTS; i++)
		atomic_store(&pool.raw[i].state, FREE);
	atomic_store(&pool.next, 0);
	atomic_store(&pool.lost, 0);
}
