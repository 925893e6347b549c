#include "agent/waiting_stacks.h"

enum err record_append(struct buf *to, const struct record_head *head, u64 size)
{
	static const char padding[8];

	buf_append(to, &size, sizeof(size));
	buf_append(to, head, size);
	buf_append(to, padding, (8 - size % 8) % 8);
	return buf_error(to);
}

static const struct record_head *record_in(const struct buf *b, size_t at)
{
	return (const struct record_head *)(b->data + at + sizeof(u64));
}

const struct record_head *record_at(const struct buf *b, size_t at, u64 *ret_size)
{
	memcpy(ret_size, b->data + at, sizeof(*ret_size));
	return record_in(b, at);
}

size_t record_room(u64 size)
{
	return sizeof(size) + (size + 7) / 8 * 8;
}

void waiting_stacks_init(struct waiting_stacks *w, size_t bytes)
{
	*w = (struct waiting_stacks){.records = BUF_INIT(bytes)};
}

void waiting_stacks_release(struct waiting_stacks *w)
{
	buf_release(&w->records);
	vec_release(&w->list);
}

enum err waiting_stacks_add(struct waiting_stacks *w, struct process *process, u32 module,
			    const struct record_head *head, u64 size, bool *ret_kept)
{
	size_t at = w->records.n;

	*ret_kept = false;
	if (record_append(&w->records, head, size) != ERR_OK) {
		w->records.n = at;
		w->records.error = ERR_OK;
		return ERR_OK;
	}
	if (vec_push(&w->list, ((struct waiting_stack){process, module, (u32)size, head->time})) !=
	    ERR_OK) {
		w->records.n = at;
		return ERR_NO_MEMORY;
	}
	process->references++;
	process->waiting_bytes += record_room(size);
	*ret_kept = true;
	return ERR_OK;
}

struct process *waiting_stacks_loser(const struct waiting_stacks *w, const struct process *process,
				     u64 size)
{
	struct process *most = NULL;

	vec_for_each (one, &w->list)
		if (!most || one->process->waiting_bytes > most->waiting_bytes)
			most = one->process;
	if (!most || process->waiting_bytes + record_room(size) >= most->waiting_bytes)
		return NULL;
	return most;
}

/* Records added meanwhile are after the others. */
static void close_gap(struct waiting_stacks *w, size_t kept, size_t from, size_t kept_bytes,
		      size_t at)
{
	if (kept_bytes == at)
		return;
	memmove(w->records.data + kept_bytes, w->records.data + at, w->records.n - at);
	memmove(w->list.v + kept, w->list.v + from, (w->list.n - from) * sizeof(*w->list.v));
	w->records.n -= at - kept_bytes;
	w->list.n -= from - kept;
}

enum err waiting_stacks_each(struct waiting_stacks *w, void *context,
			     enum err (*each)(void *context, struct waiting_stack *one,
					      const struct record_head *head, u64 size,
					      bool *ret_waits))
{
	size_t at = 0, kept_bytes = 0, kept = 0, i, n = w->list.n;
	enum err e = ERR_OK;

	w->walked = true;
	for (i = 0; !e && i < n; i++) {
		/* Both may move when another one is added. */
		struct waiting_stack one = w->list.v[i];
		size_t room = record_room(one.size);
		bool waits = false;

		e = each(context, &one, record_in(&w->records, at), one.size, &waits);
		if (!waits) {
			one.process->references--;
			one.process->waiting_bytes -= room;
		} else {
			if (kept_bytes != at)
				memmove(w->records.data + kept_bytes, w->records.data + at, room);
			kept_bytes += room;
			w->list.v[kept++] = one;
		}
		at += room;
	}
	close_gap(w, kept, i, kept_bytes, at);
	w->walked = false;
	return e;
}
