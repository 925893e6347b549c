#include "agent/wait_stacks.h"

#include "base/alloc.h"

void wait_stacks_release(struct wait_stacks *w)
{
	vec_for_each (one, &w->list)
		mem_free(one->record);
	vec_release(&w->list);
	map_release(&w->by_wait);
	*w = (struct wait_stacks){0};
}

/* Most of the list was taken: what is left moves together. */
static enum err tidy(struct wait_stacks *w)
{
	size_t kept = 0;

	map_clear(&w->by_wait);
	vec_for_each (one, &w->list)
		if (one->record)
			w->list.v[kept++] = *one;
	w->list.n = kept;
	w->taken = 0;
	for (size_t i = 0; i < kept; i++)
		TRY(map_put(&w->by_wait, w->list.v[i].wait_id, (u32)i));
	return ERR_OK;
}

enum err wait_stacks_add(struct wait_stacks *w, const struct record_head *head, size_t size)
{
	struct wait_stack one = {.wait_id = head->wait_id, .size = size};
	enum err e;

	if (size > WAIT_STACKS_BYTES - w->bytes)
		return ERR_OK;
	if (w->taken > 64 && w->taken > w->list.n / 2)
		TRY(tidy(w));
	one.record = mem_alloc(size);
	if (!one.record)
		return ERR_NO_MEMORY;
	memcpy(one.record, head, size);
	e = vec_push(&w->list, one);
	if (e) {
		mem_free(one.record);
		return e;
	}
	w->bytes += size;
	return map_put(&w->by_wait, one.wait_id, (u32)w->list.n - 1);
}

struct record_head *wait_stacks_take(struct wait_stacks *w, u64 wait_id, size_t *ret_size)
{
	MAP_PROBE(&w->by_wait, wait_id, id)
	{
		struct wait_stack *one = &w->list.v[id];
		struct record_head *record = one->record;

		if (!record || one->wait_id != wait_id)
			continue;
		one->record = NULL;
		w->taken++;
		w->bytes -= one->size;
		*ret_size = one->size;
		return record;
	}
	return NULL;
}
