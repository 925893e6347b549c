/*
 * Compaction: the chunks of ten minutes of a service become a block.
 *
 * Reading, merging and compressing happen outside any transaction; the transaction that swaps
 * chunks for the block is short, and between two of them writers get their turn. Chunks that come
 * after their window was compacted make a further block; when a window has several, they become
 * one with the next.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "store/embedded.h"

#define MAX_CHUNKS	    1000 /* of one block: deleting more rows takes too long */
#define MAX_CHUNK_BYTES	    (32u << 20)
#define MERGE_BLOCKS	    4 /* so many blocks of a window become one */
#define BLOCK_MEMORY	    (256u << 20)
#define KEY_TRIES	    4096
#define PAUSE_NS	    INT64_C(1000000)
#define SHRINK_PAGES	    500
#define DICTIONARY_LEVEL    3
#define DICTIONARY_MIN_ROWS 8

struct keys {
	VEC(int64_t) v;
};

static int by_key(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Fresh chunks whose window ended before `before_ns`, in order. */
static enum err due_chunks(struct day_service *ds, int64_t before_ns, struct keys *ret)
{
	enum err error = ERR_OK;

	mutex_lock(&ds->day->engine->lock);
	vec_for_each (chunk, &ds->fresh) {
		int64_t time = row_time_ns(chunk->key);

		if (time - time % WINDOW_NS + WINDOW_NS > before_ns)
			continue;
		error = vec_push(&ret->v, chunk->key);
		if (error != ERR_OK)
			break;
	}
	mutex_unlock(&ds->day->engine->lock);
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_key);
	return error;
}

/* ------------------------------------------------------------------ one window */

struct compaction {
	struct day_service *ds;
	struct block_info info;
	struct arena arena; /* bytes and heads of chunks */
	VEC(struct chunk_view *) views;
	struct keys taken;    /* chunks that go into the block */
	struct keys replaced; /* blocks that do */
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

static enum err add_chunk(struct compaction *m, int64_t key, struct str bytes)
{
	struct chunk_view *v = arena_zalloc(&m->arena, 1, sizeof(*v));
	const char *copy = arena_copy(&m->arena, bytes);
	enum err error = v && copy ? chunk_open(str_n(copy, bytes.n), &m->arena, v) : ERR_NO_MEMORY;

	/* A damaged one stays where it is: vestal check names it. */
	if (error == ERR_CORRUPT)
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
			error = add_chunk(m, keys[i], db_column(q, 0));
		db_reset(q);
	}
	return error;
}

static enum err add_block(struct compaction *m, int64_t key, struct str bytes)
{
	const char *copy = arena_copy(&m->arena, bytes);
	struct block *b = &m->blocks[m->block_count];

	if (!copy)
		return ERR_NO_MEMORY;
	TRY(block_open(str_n(copy, bytes.n), BLOCK_MEMORY, b));
	m->block_count++;
	for (size_t i = 0; i < b->n; i++)
		TRY(add_view(m, &b->chunks[i]));
	return vec_push(&m->replaced.v, key);
}

/* Blocks of the window, when there are so many that they should become one. */
static enum err read_blocks(struct compaction *m, struct db *reader, struct fault *fault)
{
	struct keys found = {0};
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
			if ((error = add_block(m, sqlite3_column_int64(q, 0), db_column(q, 1))) !=
			    ERR_OK)
				break;
		db_reset(q);
	}
	vec_release(&found.v);
	/* One that cannot be read stays as it is. */
	return error == ERR_CORRUPT ? ERR_OK : error;
}

enum err block_insert(struct change *c, struct day_service *ds, const struct block_info *info,
		      struct str bytes, struct fault *fault)
{
	enum err error = ERR_EXISTS;

	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		sqlite3_stmt *q;

		TRY(db_query_with(c->writer, BLOCK_ADD, &q, fault,
				  row_key(info->window_ns, c->day->sequence++),
				  atomic_load(&ds->id), (int64_t)info->profiles,
				  (int64_t)info->rows, info->first_ns, info->last_ns));
		db_bind(q, 7, bytes);
		error = db_run(c->writer, q, fault);
	}
	return error;
}

enum err rollups_forget(struct change *c, struct day_service *ds, int64_t window_ns,
			struct fault *fault)
{
	int64_t day_ns = c->day->name.day * NS_PER_DAY;

	TRY(db_run_with(c->writer, ROLLUP_DELETE, fault, atomic_load(&ds->id), ROLLUP_HOUR,
			(window_ns - window_ns % NS_PER_HOUR) / 1000000));
	return db_run_with(c->writer, ROLLUP_DELETE, fault, atomic_load(&ds->id), ROLLUP_DAY,
			   day_ns / 1000000);
}

static enum err swap(struct compaction *m, struct str bytes, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, m->ds->day, fault);

	if (error != ERR_OK)
		return error;
	error = block_insert(&c, m->ds, &m->info, bytes, fault);
	for (size_t i = 0; error == ERR_OK && i < m->taken.v.n; i++)
		error = db_run_with(c.writer, CHUNK_DELETE, fault, m->taken.v.v[i]);
	for (size_t i = 0; error == ERR_OK && i < m->replaced.v.n; i++)
		error = db_run_with(c.writer, BLOCK_DELETE, fault, m->replaced.v.v[i]);
	if (error == ERR_OK)
		error = rollups_forget(&c, m->ds, m->info.window_ns, fault);
	error = change_end(&c, error, fault);
	if (error == ERR_OK)
		day_service_remove_fresh(m->ds, m->taken.v.v, m->taken.v.n);
	return error;
}

/* Chunks of one window, in order. */
static enum err compact_window(struct day_service *ds, const int64_t *keys, size_t n,
			       struct fault *fault)
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
		error = swap(&m, buf_view(&bytes), fault);
	buf_release(&bytes);
	compaction_release(&m);
	return error;
}

static bool same_window(int64_t a, int64_t b)
{
	return row_time_ns(a) / WINDOW_NS == row_time_ns(b) / WINDOW_NS;
}

static enum err compact_service(struct day_service *ds, int64_t before_ns, bool *ret_changed,
				struct fault *fault)
{
	struct keys due = {0};
	enum err error = due_chunks(ds, before_ns, &due);

	for (size_t at = 0, n; error == ERR_OK && at < due.v.n; at += n) {
		for (n = 1; at + n < due.v.n && n < MAX_CHUNKS; n++)
			if (!same_window(due.v.v[at], due.v.v[at + n]))
				break;
		error = compact_window(ds, due.v.v + at, n, fault);
		*ret_changed = true;
		clock_sleep_ns(PAUSE_NS);
	}
	vec_release(&due.v);
	return error;
}

enum err compact_day(struct day *d, bool all, bool *ret_changed, struct fault *fault)
{
	int64_t before = all ? INT64_MAX : store_now(&d->engine->base) - WINDOW_LATE_NS;
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK; i++) {
		struct day_service *ds;
		bool changed = false;

		mutex_lock(&d->engine->lock);
		ds = i < d->services.n ? d->services.v[i] : NULL;
		mutex_unlock(&d->engine->lock);
		if (!ds)
			break;
		error = compact_service(ds, before, &changed, fault);
		if (error == ERR_OK && (changed || all))
			error = dictionary_compact(ds, all ? 2 : DICTIONARY_MIN_ROWS, fault);
		*ret_changed |= changed;
	}
	return error;
}

/* ------------------------------------------------------------------ dictionaries */

/* Where the deltas of a new partition begin. */
static enum err first_mark(struct day_service *ds, struct partition_mark *ret)
{
	struct partition *p;

	TRY(partition_new(STR("x"), STR("x"), 0, ds->day->engine->base.seed, NULL, &p));
	*ret = p->persisted;
	partition_free(p);
	return ERR_OK;
}

/* The rows up to `last` as one. Rows that come meanwhile stand behind it and stay. */
static enum err encode_dictionary(struct day_service *ds, struct db *reader, int64_t last,
				  struct buf *out, struct fault *fault)
{
	struct partition_mark from;
	struct partition *p = NULL;
	enum err error;

	TRY(first_mark(ds, &from));
	TRY(service_load(ds, reader, last, &p, fault));
	error = partition_delta_encode(p, &from, DICTIONARY_LEVEL, out);
	partition_free(p);
	return error;
}

enum err dictionary_put(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
			struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(db_run_with(c->writer, DICTIONARY_DELETE, fault,
			dictionary_key(atomic_load(&ds->id), 0), last));
	TRY(db_query_with(c->writer, DICTIONARY_ADD, &q, fault, last));
	db_bind(q, 2, bytes);
	return db_run(c->writer, q, fault);
}

enum err dictionary_compact(struct day_service *ds, unsigned least_rows, struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);
	struct buf bytes = BUF_INIT(SIZE_MAX);
	struct db *reader = NULL;
	int64_t last = 0, rows = 0;
	struct change c;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	if (!id)
		return ERR_OK;
	TRY(day_reader(ds->day, &reader, fault));
	error = db_query_with(reader, DICTIONARY_LAST, &q, fault, dictionary_key(id, 0),
			      dictionary_key(id, UINT32_MAX));
	if (error == ERR_OK)
		error = db_step(reader, q, &row, fault);
	if (error == ERR_OK) {
		last = sqlite3_column_int64(q, 0);
		rows = sqlite3_column_int64(q, 1);
		db_reset(q);
	}
	if (error == ERR_OK && rows >= least_rows)
		error = encode_dictionary(ds, reader, last, &bytes, fault);
	day_reader_back(ds->day, reader, error);
	if (error == ERR_OK && rows >= least_rows &&
	    (error = change_begin(&c, ds->day, fault)) == ERR_OK) {
		error = dictionary_put(&c, ds, last, buf_view(&bytes), fault);
		error = change_end(&c, error, fault);
	}
	buf_release(&bytes);
	return error;
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
