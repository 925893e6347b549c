#include "agent/own_tasks.h"

void own_tasks_release(struct own_tasks *t)
{
	vec_release(&t->list);
	vec_release(&t->users);
}

/* Its index, or where to insert it. */
static size_t place_of(const struct own_tasks *t, u32 tid)
{
	size_t from = 0, to = t->list.n;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (t->list.v[middle].tid < tid)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct own_task *own_tasks_find(struct own_tasks *t, u32 tid)
{
	size_t at = place_of(t, tid);

	return at < t->list.n && t->list.v[at].tid == tid ? &t->list.v[at] : NULL;
}

enum err own_tasks_add(struct own_tasks *t, const struct own_task *task)
{
	size_t at = place_of(t, task->tid);

	while (t->users.n <= task->root)
		TRY(vec_push(&t->users, 0));
	if (at < t->list.n && t->list.v[at].tid == task->tid) {
		t->users.v[t->list.v[at].root]--;
	} else {
		TRY(vec_reserve(&t->list, 1));
		memmove(t->list.v + at + 1, t->list.v + at, (t->list.n - at) * sizeof(*task));
		t->list.n++;
	}
	t->list.v[at] = *task;
	t->users.v[task->root]++;
	return ERR_OK;
}

bool own_tasks_remove(struct own_tasks *t, u32 tid, u32 *ret_root)
{
	size_t at = place_of(t, tid);

	if (at == t->list.n || t->list.v[at].tid != tid)
		return false;
	*ret_root = t->list.v[at].root;
	memmove(t->list.v + at, t->list.v + at + 1, (t->list.n - at - 1) * sizeof(*t->list.v));
	t->list.n--;
	return !--t->users.v[*ret_root];
}
