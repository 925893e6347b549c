/*
 * Compaction: the chunks of ten minutes of a service become a block.
 *
 * Reading, merging and compressing happen outside any transaction; the transaction that swaps
 * chunks for blocks is short, and between two of them writers get their turn. Chunks lie in the
 * file as they came, those of all services mixed: windows are compacted one after the other, each
 * for all services, and several services share a transaction, so that a page is rewritten once and
 * not once for every chunk on it. Chunks that come after their window was compacted make a further
 * block; when a window has several, they become one with the next.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "store/upkeep.h"

#define MAX_CHUNKS	    1000 /* of one block: deleting more rows takes too long */
#define MAX_CHUNK_BYTES	    (32u << 20)
#define MERGE_BLOCKS	    4 /* so many blocks of a window become one */
#define BLOCK_MEMORY	    (256u << 20)
#define PAUSE_NS	    INT64_C(1000000)
#define SHRINK_PAGES	    500
#define DICTIONARY_MIN_ROWS 8

/* ------------------------------------------------------------------ one window */

struct compaction {
	struct day_service *ds;
	struct block_info info;
	struct arena arena; /* bytes and heads of chunks */
	VEC(struct chunk_view *) views;
	struct row_keys taken;	  /* chunks that go into the block */
	struct row_keys replaced; /* blocks that do */
	struct block blocks[MERGE_BLOCKS * 2];
	size_t block_count;
};

static void compaction_release(struct compaction *m)
{
	for (size_t i = 0; i < m->block_count; i++)
		block_release(&m->blocks[i]);
	vec_release(&m->views);
	vec_release(&m->taken.v);
	vec_release(&m->replaced.v);
	arena_release(&m->arena);
}

static enum err add_view(struct compaction *m, struct chunk_view *v)
{
	TRY(vec_push(&m->views, v));
	if (!m->info.profiles || v->head.time_ns < m->info.first_ns)
		m->info.first_ns = v->head.time_ns;
	if (!m->info.profiles || v->head.time_ns > m->info.last_ns)
		m->info.last_ns = v->head.time_ns;
	m->info.profiles += v->head.profiles;
	m->info.rows += v->head.rows;
	return ERR_OK;
}

static enum err add_chunk(struct compaction *m, struct db *reader, int64_t key, sqlite3_stmt *q)
{
	const struct day *d = m->ds->day;
	struct str bytes = db_column(q, 3);
	struct chunk_view *v = arena_zalloc(&m->arena, 1, sizeof(*v));
	const char *copy = arena_copy(&m->arena, bytes);
	enum err error = ERR_DAMAGED;

	if (!v || !copy)
		return ERR_NO_MEMORY;
	if (day_seal_good(d, reader, sqlite3_column_int64(q, 4),
			  seal_chunk_row(atomic_load(&d->key), q)) &&
	    sqlite3_column_int64(q, 1) == atomic_load(&m->ds->id))
		error = chunk_open(str_n(copy, bytes.n), &m->arena, v);
	/* A damaged one stays where it is: vestal check names it. */
	if (is_damage(error))
		return ERR_OK;
	TRY(error);
	TRY(add_view(m, v));
	return vec_push(&m->taken.v, key);
}

static enum err read_chunks(struct compaction *m, struct db *reader, const int64_t *keys, size_t n,
			    struct fault *fault)
{
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK && i < n && m->arena.used < MAX_CHUNK_BYTES; i++) {
		sqlite3_stmt *q;
		bool row;

		TRY(db_query_with(reader, CHUNK_GET, &q, fault, keys[i]));
		error = db_step(reader, q, &row, fault);
		if (error == ERR_OK && row)
			error = add_chunk(m, reader, keys[i], q);
		db_reset(q);
	}
	return error;
}

static enum err add_block(struct compaction *m, struct db *reader, sqlite3_stmt *q)
{
	struct str bytes = db_column(q, 6);
	const char *copy = arena_copy(&m->arena, bytes);
	struct block *b = &m->blocks[m->block_count];

	if (!copy)
		return ERR_NO_MEMORY;
	/* Leave an unreadable block alone. */
	if (!block_row_good(m->ds->day, reader, q))
		return ERR_DAMAGED;
	TRY(block_open(str_n(copy, bytes.n), BLOCK_MEMORY, b));
	m->block_count++;
	for (size_t i = 0; i < b->n; i++)
		TRY(add_view(m, &b->chunks[i]));
	return vec_push(&m->replaced.v, sqlite3_column_int64(q, 0));
}

/* Blocks of the window, when there are so many that they should become one. */
static enum err read_blocks(struct compaction *m, struct db *reader, struct fault *fault)
{
	struct row_keys found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, BLOCK_RANGE, &q, fault, atomic_load(&m->ds->id),
			  row_key(m->info.window_ns, 0),
			  row_key(m->info.window_ns + WINDOW_NS, 0)));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		if ((error = vec_push(&found.v, sqlite3_column_int64(q, 0))) != ERR_OK)
			break;
	db_reset(q);
	if (error == ERR_OK && found.v.n >= MERGE_BLOCKS) {
		TRY(db_query_with(reader, BLOCK_RANGE, &q, fault, atomic_load(&m->ds->id),
				  row_key(m->info.window_ns, 0),
				  row_key(m->info.window_ns + WINDOW_NS, 0)));
		while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row &&
		       m->block_count < MERGE_BLOCKS * 2)
			if ((error = add_block(m, reader, q)) != ERR_OK)
				break;
		db_reset(q);
	}
	vec_release(&found.v);
	return is_damage(error) ? ERR_OK : error;
}

/* Chunks of one window of a service, in order: they will be a block of the swap. */
static enum err compact_window(struct swap *swap, struct day_service *ds, const int64_t *keys,
			       size_t n, struct fault *fault)
{
	int64_t time = row_time_ns(keys[0]);
	struct compaction m = {.ds = ds, .info.window_ns = time - time % WINDOW_NS};
	struct buf bytes = BUF_INIT(SIZE_MAX);
	struct db *reader = NULL;
	enum err error = day_reader(ds->day, &reader, fault);

	if (error == ERR_OK)
		error = read_chunks(&m, reader, keys, n, fault);
	if (error == ERR_OK && m.views.n)
		error = read_blocks(&m, reader, fault);
	day_reader_back(ds->day, reader, error);
	if (error == ERR_OK && m.views.n)
		error = block_encode(m.views.v, m.views.n, &bytes);
	if (error == ERR_OK && m.views.n)
		error = swap_add(swap, ds, &m.info, &bytes, &m.taken, &m.replaced);
	buf_release(&bytes);
	compaction_release(&m);
	return error;
}

/* ------------------------------------------------------------------ what is due */

/* Chunks of one window of a service: keys[at … at + n). */
struct task {
	struct day_service *ds;
	int64_t window;
	size_t at, n;
};

struct agenda {
	struct row_keys keys;
	VEC(struct task) tasks;
	VEC(struct day_service *) services; /* with something to do */
};

static void agenda_release(struct agenda *a)
{
	vec_release(&a->keys.v);
	vec_release(&a->tasks);
	vec_release(&a->services);
}

static int by_window(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Fresh chunks whose window ended before `before_ns`, in order. */
static enum err due_chunks(struct day_service *ds, int64_t before_ns, struct row_keys *ret)
{
	size_t first = ret->v.n;
	enum err error = ERR_OK;

	mutex_lock(&ds->day->lists);
	vec_for_each (chunk, &ds->fresh) {
		int64_t time = row_time_ns(chunk->key);

		if (time - time % WINDOW_NS + WINDOW_NS > before_ns)
			continue;
		error = vec_push(&ret->v, chunk->key);
		if (error != ERR_OK)
			break;
	}
	mutex_unlock(&ds->day->lists);
	if (ret->v.n > first)
		qsort(ret->v.v + first, ret->v.n - first, sizeof(*ret->v.v), compare_row_keys);
	return error;
}

static enum err add_service(struct agenda *a, struct day_service *ds, int64_t before_ns)
{
	size_t first = a->keys.v.n;

	TRY(due_chunks(ds, before_ns, &a->keys));
	for (size_t at = first, n; at < a->keys.v.n; at += n) {
		struct task task = {ds, row_time_ns(a->keys.v.v[at]) / WINDOW_NS, at, 0};

		for (n = 1; at + n < a->keys.v.n && n < MAX_CHUNKS; n++)
			if (row_time_ns(a->keys.v.v[at + n]) / WINDOW_NS != task.window)
				break;
		task.n = n;
		TRY(vec_push(&a->tasks, task));
	}
	return a->keys.v.n > first ? vec_push(&a->services, ds) : ERR_OK;
}

static enum err run_tasks(struct day *d, const struct agenda *a, struct fault *fault)
{
	struct swap swap = {.day = d};
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK && i < a->tasks.n; i++) {
		const struct task *t = &a->tasks.v[i], *before = i ? t - 1 : NULL;
		/* Read the state that the last swap left. */
		bool same = before && before->ds == t->ds && before->window == t->window;

		if (swap.v.n && (same || swap.chunks + t->n > MAX_CHUNKS)) {
			error = swap_commit(&swap, fault);
			clock_sleep_ns(PAUSE_NS);
		}
		if (error == ERR_OK)
			error = compact_window(&swap, t->ds, a->keys.v.v + t->at, t->n, fault);
	}
	/* Blocks made before the error are valid. */
	if (swap.v.n) {
		enum err last = swap_commit(&swap, error == ERR_OK ? fault : NULL);

		if (error == ERR_OK)
			error = last;
	}
	swap_release(&swap);
	return error;
}

enum err compact_day(struct day *d, bool all, bool *ret_changed, struct fault *fault)
{
	int64_t before = all ? INT64_MAX : upkeep_now(d->engine) - WINDOW_LATE_NS;
	CLEANUP(agenda_release) struct agenda agenda = {0};
	struct day_service *ds;

	for (size_t i = 0; (ds = day_service_at(d, i)); i++)
		TRY(add_service(&agenda, ds, before));
	if (agenda.tasks.n) {
		qsort(agenda.tasks.v, agenda.tasks.n, sizeof(*agenda.tasks.v), by_window);
		*ret_changed = true;
		TRY(run_tasks(d, &agenda, fault));
	}
	if (all) {
		for (size_t i = 0; (ds = day_service_at(d, i)); i++)
			TRY(dictionary_compact(ds, 2, fault));
		return ERR_OK;
	}
	vec_for_each (service, &agenda.services)
		TRY(dictionary_compact(*service, DICTIONARY_MIN_ROWS, fault));
	return ERR_OK;
}

/* ------------------------------------------------------------------ space */

enum err day_shrink(struct day *d, struct fault *fault)
{
	int64_t left = 1, before = INT64_MAX;
	enum err error = ERR_OK;
	struct db *writer;

	while (error == ERR_OK && left > 0 && left < before) {
		before = left == 1 ? INT64_MAX : left;
		TRY(day_writer(d, &writer, fault));
		error = db_vacuum(writer, SHRINK_PAGES, &left, fault);
		mutex_unlock(&d->write);
		clock_sleep_ns(PAUSE_NS);
	}
	return error;
}
