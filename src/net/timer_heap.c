#include "net/timer_heap.h"

void timer_heap_release(struct timer_heap *h)
{
	vec_release(&h->items);
}

enum err timer_heap_reserve(struct timer_heap *h, size_t count)
{
	return count > h->items.n ? vec_reserve(&h->items, count - h->items.n) : ERR_OK;
}

static void put(struct timer_heap *h, size_t i, struct timer *t)
{
	h->items.v[i] = t;
	t->place = i + 1;
}

static void rise(struct timer_heap *h, size_t i, struct timer *t)
{
	while (i && h->items.v[(i - 1) / 2]->at_ns > t->at_ns) {
		put(h, i, h->items.v[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(h, i, t);
}

static void sink(struct timer_heap *h, size_t i, struct timer *t)
{
	size_t child;

	while ((child = 2 * i + 1) < h->items.n) {
		if (child + 1 < h->items.n &&
		    h->items.v[child + 1]->at_ns < h->items.v[child]->at_ns)
			child++;
		if (h->items.v[child]->at_ns >= t->at_ns)
			break;
		put(h, i, h->items.v[child]);
		i = child;
	}
	put(h, i, t);
}

void timer_set(struct timer_heap *h, struct timer *t, int64_t at_ns)
{
	if (at_ns == INT64_MAX || (t->place && t->at_ns <= at_ns))
		return;
	t->at_ns = at_ns;
	if (t->place)
		rise(h, t->place - 1, t);
	else if (vec_reserve(&h->items, 1) == ERR_OK)
		rise(h, h->items.n++, t);
}

void timer_remove(struct timer_heap *h, struct timer *t)
{
	size_t i = t->place - 1;
	struct timer *last;

	if (!t->place)
		return;
	t->place = 0;
	last = h->items.v[--h->items.n];
	if (last == t)
		return;
	if (i && h->items.v[(i - 1) / 2]->at_ns > last->at_ns)
		rise(h, i, last);
	else
		sink(h, i, last);
}

int64_t timer_heap_next(const struct timer_heap *h)
{
	return h->items.n ? h->items.v[0]->at_ns : INT64_MAX;
}

struct timer *timer_heap_pop(struct timer_heap *h, int64_t now_ns)
{
	struct timer *t = h->items.n ? h->items.v[0] : NULL;

	if (!t || t->at_ns > now_ns)
		return NULL;
	timer_remove(h, t);
	return t;
}
