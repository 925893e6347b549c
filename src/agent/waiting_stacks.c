#include "agent/waiting_stacks.h"

enum err record_append(struct buf *to, const struct record_head *head, u64 size)
{
	static const char padding[8];

	buf_append(to, &size, sizeof(size));
	buf_append(to, head, size);
	buf_append(to, padding, (8 - size % 8) % 8);
	return buf_error(to);
}

const struct record_head *record_at(const struct buf *b, size_t at, u64 *ret_size)
{
	memcpy(ret_size, b->data + at, sizeof(*ret_size));
	return (const struct record_head *)(b->data + at + sizeof(*ret_size));
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
	if (vec_push(&w->list, ((struct waiting_stack){process, module, head->time})) != ERR_OK) {
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

enum err waiting_stacks_take(struct waiting_stacks *w, struct waiting_stacks *to, void *context,
			     bool (*chosen)(void *context, const struct waiting_stack *one,
					    size_t room))
{
	struct buf *b = &w->records;
	size_t at = 0, kept_bytes = 0, kept = 0;
	enum err e = ERR_OK;

	vec_for_each (one, &w->list) {
		struct process *process = one->process;
		u64 size;
		const struct record_head *head = record_at(b, at, &size);
		size_t room = record_room(size);
		bool moved = false;

		if (!e && chosen(context, one, room))
			e = waiting_stacks_add(to, process, one->module, head, size, &moved);
		if (moved) {
			process->references--;
			process->waiting_bytes -= room;
		} else {
			memmove(b->data + kept_bytes, b->data + at, room);
			kept_bytes += room;
			w->list.v[kept++] = *one;
		}
		at += room;
	}
	w->list.n = kept;
	b->n = kept_bytes;
	return e;
}
