#include "agent/wakers.h"

/* More than this in a few turns is a storm: the rest of it stays without a name. */
#define WAKERS_MAX 16384u

static void forget_all(struct wakers *w)
{
	w->list.n = w->frames.n = 0;
	map_clear(&w->by_wait);
}

void wakers_release(struct wakers *w)
{
	vec_for_each (one, &w->list)
		one->process->references--;
	vec_release(&w->list);
	vec_release(&w->frames);
	map_release(&w->by_wait);
}

enum err wakers_add(struct wakers *w, u64 wait_id, u64 time, struct process *process,
		    const char thread[16], const struct sample_frame *frames, u32 n)
{
	struct waker one = {.wait_id = wait_id,
			    .time = time,
			    .process = process,
			    .frames_at = w->frames.n,
			    .frame_count = n};

	if (w->list.n >= WAKERS_MAX)
		return ERR_OK;
	memcpy(one.thread, thread, sizeof(one.thread));
	TRY(vec_append(&w->frames, frames, n));
	TRY(vec_push(&w->list, one));
	process->references++;
	return map_put(&w->by_wait, wait_id, (u32)w->list.n - 1);
}

void wakers_find(const struct wakers *w, u64 wait_id, struct sample *ret)
{
	u32 at = map_get(&w->by_wait, wait_id);

	if (at == MAP_NONE)
		return;
	ret->waker = w->list.v[at].process;
	memcpy(ret->waker_thread, w->list.v[at].thread, sizeof(ret->waker_thread));
	ret->waker_frames = w->frames.v + w->list.v[at].frames_at;
	ret->waker_frame_count = w->list.v[at].frame_count;
}

enum err wakers_settle(struct wakers *w, u64 before)
{
	struct wakers kept = {0};
	enum err e = ERR_OK;

	/* Most turns find all of it old, or nothing. */
	if (!w->list.n || w->list.v[0].time >= before)
		return ERR_OK;
	vec_for_each (one, &w->list) {
		if (!e && one->time >= before)
			e = wakers_add(&kept, one->wait_id, one->time, one->process, one->thread,
				       w->frames.v + one->frames_at, one->frame_count);
		one->process->references--;
	}
	forget_all(w);
	wakers_release(w);
	*w = kept;
	return e;
}
