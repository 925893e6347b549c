/* The view of modules for signal handlers: published as a whole, immutable, freed when it has no
 * readers. */
#include <stdlib.h>
#include <string.h>

#include "sdk/loaded.h"

static _Atomic(struct loaded_view *) current;
static atomic_uint readers;

const struct loaded_view *loaded_view_enter(void)
{
	atomic_fetch_add(&readers, 1);
	return atomic_load(&current);
}

void loaded_view_leave(void)
{
	atomic_fetch_sub(&readers, 1);
}

const struct loaded_view *loaded_current(void)
{
	return atomic_load(&current);
}

const struct loaded_range *loaded_find(const struct loaded_view *view, u64 address)
{
	size_t low = 0, high = view->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (view->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < view->ranges[low - 1].end ? &view->ranges[low - 1] : NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct loaded_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void view_free(struct loaded_view *v)
{
	if (!v)
		return;
	mem_free(v->recent);
	mem_free(v->rules);
	mem_free(v);
}

static enum err copy_rules(const struct loaded *l, struct loaded_view *v)
{
	const struct unwind_rule *rules = unwind_rules_all(l->rules, &v->rule_count);

	v->rules = mem_alloc(v->rule_count * sizeof(*rules));
	if (!v->rules)
		return ERR_NO_MEMORY;
	memcpy(v->rules, rules, v->rule_count * sizeof(*rules));
	return ERR_OK;
}

static enum err make_view(const struct loaded *l, struct loaded_view **ret)
{
	struct loaded_view *v =
		mem_zalloc(1, sizeof(*v) + l->modules.n * LOADED_RANGES_MAX * sizeof(*v->ranges));

	if (!v)
		return ERR_NO_MEMORY;
	v->recent = mem_zalloc(LOADED_RECENT, sizeof(*v->recent));
	if (!v->recent || copy_rules(l, v)) {
		view_free(v);
		return ERR_NO_MEMORY;
	}
	vec_for_each (m, &l->modules)
		for (u32 i = 0; (*m)->present && i < (*m)->range_count; i++)
			v->ranges[v->count++] = (*m)->ranges[i];
	qsort(v->ranges, v->count, sizeof(*v->ranges), by_start);
	*ret = v;
	return ERR_OK;
}

/* A reader increments the count before it loads the view: if the count is 0, no reader has an old
 * view. */
void loaded_free_old(void)
{
	struct loaded_view *v = atomic_load(&current);

	if (!v || atomic_load(&readers))
		return;
	for (struct loaded_view *old = v->previous, *next; old; old = next) {
		next = old->previous;
		view_free(old);
	}
	v->previous = NULL;
}

enum err loaded_publish(const struct loaded *l)
{
	struct loaded_view *v = NULL;

	TRY(make_view(l, &v));
	v->previous = atomic_load(&current);
	atomic_store(&current, v);
	loaded_free_old();
	return ERR_OK;
}

/* There are no readers in the child. The published view is complete, whatever the missing thread
 * was doing. */
void loaded_view_in_child(bool was_busy)
{
	struct loaded_view *view = atomic_load(&current);

	atomic_store(&readers, 0);
	if (view && was_busy)
		view->previous = NULL;
}
