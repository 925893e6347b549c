#include "queue/queue.h"

#include <unistd.h>

#include "base/alloc.h"
#include "queue/queue_files.h"

struct entry {
	uint64_t number;
	size_t size; /* on disk with its head, in memory without */
	bool in_memory;
	bool taken;
	struct buf memory;
};

struct queue {
	struct queue_options options;
	int directory;		/* -1 = there is none */
	VEC(struct entry) list; /* by number */
	uint64_t next;
	struct queue_stats stats;
};

static void count_in(struct queue *q, const struct entry *e)
{
	if (e->in_memory) {
		q->stats.memory_entries++;
		q->stats.memory_bytes += e->size;
	} else {
		q->stats.entries++;
		q->stats.bytes += e->size;
	}
}

static void count_out(struct queue *q, const struct entry *e)
{
	if (e->in_memory) {
		q->stats.memory_entries--;
		q->stats.memory_bytes -= e->size;
	} else {
		q->stats.entries--;
		q->stats.bytes -= e->size;
	}
}

static void remove_at(struct queue *q, size_t i)
{
	struct entry *e = &q->list.v[i];

	count_out(q, e);
	if (!e->in_memory)
		queue_file_remove(q->directory, e->number);
	buf_release(&e->memory);
	memmove(e, e + 1, (--q->list.n - i) * sizeof(*e));
}

static void tell_dropping(const struct queue *q, const struct entry *e)
{
	struct buf bytes = BUF_INIT(e->size + 1);

	if (!q->options.dropping)
		return;
	if (e->in_memory)
		q->options.dropping(q->options.context, buf_view(&e->memory));
	else if (queue_file_read(q->directory, e->number, &bytes) == ERR_OK)
		q->options.dropping(q->options.context, buf_view(&bytes));
	buf_release(&bytes);
}

/* Drops the oldest of its kind that is not being sent; false if there is none. */
static bool drop_oldest(struct queue *q, bool in_memory)
{
	for (size_t i = 0; i < q->list.n; i++) {
		const struct entry *e = &q->list.v[i];

		if (e->taken || e->in_memory != in_memory)
			continue;
		tell_dropping(q, e);
		remove_at(q, i);
		q->stats.dropped++;
		return true;
	}
	return false;
}

/* Room for one more entry of `size` bytes. */
static bool make_room(struct queue *q, bool in_memory, size_t size)
{
	size_t most = in_memory ? q->options.max_memory : q->options.max_bytes;

	if (size > most)
		return false;
	while (size > most - (in_memory ? q->stats.memory_bytes : q->stats.bytes))
		if (!drop_oldest(q, in_memory))
			return false;
	while (q->list.n >= q->options.max_entries)
		if (!drop_oldest(q, false) && !drop_oldest(q, true))
			return false;
	return true;
}

static enum err take_over(struct queue *q)
{
	struct queue_file_list found = {0};
	enum err e = queue_directory_list(q->directory, &found);

	for (size_t i = 0; !e && i < found.v.n; i++) {
		struct entry one = {.number = found.v.v[i].number, .size = found.v.v[i].size};

		e = vec_push(&q->list, one);
		if (!e) {
			count_in(q, &one);
			q->next = one.number + 1;
		}
	}
	vec_release(&found.v);
	while (!e && (q->stats.bytes > q->options.max_bytes || q->list.n > q->options.max_entries))
		drop_oldest(q, false);
	return e;
}

enum err queue_open(const struct queue_options *o, struct queue **ret, struct fault *fault)
{
	struct queue *q = mem_zalloc(1, sizeof(*q));
	enum err e = ERR_OK;

	if (!q)
		return ERR_NO_MEMORY;
	q->options = *o;
	q->directory = -1;
	if (o->directory)
		e = queue_directory_open(o->directory, &q->directory, fault);
	if (!e && o->directory) {
		e = take_over(q);
		if (e)
			fault_set(fault, e, "%s: %s", o->directory, err_text(e));
	}
	if (e) {
		queue_close(q);
		return e;
	}
	*ret = q;
	return ERR_OK;
}

/* From memory to disk, as far as it goes. */
static void save_memory(struct queue *q)
{
	vec_for_each (e, &q->list) {
		size_t size = e->size + QUEUE_HEAD_SIZE;

		if (!e->in_memory || e->taken)
			continue;
		if (size > q->options.max_bytes - q->stats.bytes ||
		    queue_file_write(q->directory, e->number, buf_view(&e->memory)) != ERR_OK)
			return;
		count_out(q, e);
		buf_release(&e->memory);
		e->in_memory = false;
		e->size = size;
		count_in(q, e);
	}
}

void queue_close(struct queue *q)
{
	if (!q)
		return;
	vec_for_each (e, &q->list)
		e->taken = false;
	if (q->directory >= 0) {
		save_memory(q);
		close(q->directory);
	}
	vec_for_each (e, &q->list)
		buf_release(&e->memory);
	vec_release(&q->list);
	mem_free(q);
}

static enum err add(struct queue *q, struct entry *e)
{
	enum err error = vec_push(&q->list, *e);

	if (error)
		return error;
	count_in(q, e);
	q->next++;
	return ERR_OK;
}

static enum err push_to_disk(struct queue *q, struct str bytes)
{
	struct entry e = {.number = q->next, .size = bytes.n + QUEUE_HEAD_SIZE};
	enum err error;

	if (!make_room(q, false, e.size))
		return ERR_TOO_LARGE;
	error = queue_file_write(q->directory, e.number, bytes);
	q->stats.last_disk_fault = error;
	if (error) {
		q->stats.disk_faults++;
		return error;
	}
	error = add(q, &e);
	if (error)
		queue_file_remove(q->directory, e.number);
	return error;
}

static enum err push_to_memory(struct queue *q, struct str bytes)
{
	struct entry e = {
		.number = q->next, .size = bytes.n, .in_memory = true, .memory = BUF_INIT(bytes.n)};
	enum err error;

	if (!make_room(q, true, e.size))
		return ERR_TOO_LARGE;
	buf_str(&e.memory, bytes);
	error = buf_error(&e.memory);
	if (!error)
		error = add(q, &e);
	if (error)
		buf_release(&e.memory);
	return error;
}

enum err queue_push(struct queue *q, struct str bytes)
{
	enum err e = q->directory >= 0 ? push_to_disk(q, bytes) : ERR_NO_SPACE;

	if (!e && q->stats.memory_entries)
		save_memory(q);
	if (e && e != ERR_NO_MEMORY)
		e = push_to_memory(q, bytes);
	if (e) {
		q->stats.dropped++;
		if (q->options.dropping)
			q->options.dropping(q->options.context, bytes);
	}
	return e;
}

enum err queue_take(struct queue *q, struct buf *ret, uint64_t *ret_id)
{
	size_t i = 0;

	while (i < q->list.n) {
		struct entry *e = &q->list.v[i];
		enum err error;

		if (e->taken) {
			i++;
			continue;
		}
		if (e->in_memory) {
			buf_str(ret, buf_view(&e->memory));
			error = buf_error(ret);
		} else {
			error = queue_file_read(q->directory, e->number, ret);
		}
		if (error == ERR_CORRUPT || error == ERR_IO) {
			remove_at(q, i);
			q->stats.damaged++;
			continue;
		}
		TRY(error);
		e->taken = true;
		*ret_id = e->number;
		return ERR_OK;
	}
	return ERR_NOT_FOUND;
}

void queue_done(struct queue *q, uint64_t id)
{
	for (size_t i = 0; i < q->list.n; i++)
		if (q->list.v[i].number == id) {
			remove_at(q, i);
			return;
		}
}

void queue_put_back(struct queue *q, uint64_t id)
{
	vec_for_each (e, &q->list)
		if (e->number == id)
			e->taken = false;
}

bool queue_is_empty(const struct queue *q)
{
	return !q->list.n;
}

void queue_stats(const struct queue *q, struct queue_stats *ret)
{
	*ret = q->stats;
}
