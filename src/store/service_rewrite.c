/*
 * A service from which data is deleted is rewritten over a new dictionary, so that unused names are
 * removed from the disk.
 *
 * Existing data is rewritten while writers continue; then queries are blocked, data that arrived
 * meanwhile is rewritten, too, and one transaction replaces the old rows by the new ones. Batches
 * that were encoded over the old dictionary, but not written yet, are converted when they are
 * written (commit.c).
 */
#include "store/embedded_index.h"
#include "store/service_rewrite.h"

#include <stdlib.h>

#define BLOCK_MEMORY	 (256u << 20)
#define DICTIONARY_LEVEL 3

static bool link_matches(const struct selection *s, const struct link *link)
{
	static const uint8_t none[16];

	for (size_t i = 0; i < s->link_count; i++) {
		const struct link *l = &s->links[i];

		if ((!memcmp(l->trace_id, none, 16) || !memcmp(l->trace_id, link->trace_id, 16)) &&
		    (!memcmp(l->span_id, none, 8) || !memcmp(l->span_id, link->span_id, 8)))
			return true;
	}
	return s->link_count == 0;
}

/* Marks the selected rows of a chunk; false if there are none. */
static enum err mark_rows(struct rewriting *w, const struct chunk_view *v, struct arena *arena,
			  bool *rows, bool *ret_any)
{
	static const struct link no_link;
	struct chunk_group *groups;
	struct str links;
	uint32_t n;

	*ret_any = false;
	TRY(chunk_groups(v, arena, &groups, &n));
	TRY(chunk_links(v, &links));
	for (uint32_t g = 0; g < n; g++) {
		struct link link = no_link;
		bool takes;

		if (groups[g].link)
			memcpy(&link, links.p + (groups[g].link - 1) * sizeof(link), sizeof(link));
		TRY(choice_takes_labels(&w->choice, w->from, v->head.series, groups[g].labels,
					&takes));
		takes = takes && link_matches(w->selection, &link);
		memset(rows + groups[g].first, takes, groups[g].n);
		*ret_any |= takes;
	}
	return ERR_OK;
}

static enum err mark(struct rewriting *w, const struct chunk_view *v, struct arena *arena,
		     struct removal *ret, bool *ret_any)
{
	bool *rows = arena_zalloc(arena, (size_t)v->head.rows + 1, 1);
	bool *types = arena_zalloc(arena, (size_t)v->head.column_count + 1, 1);
	bool any_type = false;

	if (!rows || !types)
		return ERR_NO_MEMORY;
	*ret = (struct removal){rows, types};
	*ret_any = false;
	if (v->head.time_ns < w->selection->from_ns || v->head.time_ns >= w->selection->until_ns ||
	    !choice_has_series(&w->choice, v->head.series))
		return ERR_OK;
	for (uint32_t t = 0; t < v->head.column_count; t++)
		any_type |= types[t] = choice_has_type(&w->choice, v->head.columns[t].type);
	if (any_type && v->head.rows)
		return mark_rows(w, v, arena, rows, ret_any);
	/* A profile without rows goes where all of its series is selected. */
	*ret_any = any_type && !w->choice.open[v->head.series] && !w->selection->link_count;
	return ERR_OK;
}

/* Appends what is left of a chunk. */
static enum err rewrite_view(struct rewriting *w, const struct chunk_view *v, struct buf *out,
			     struct encoded_chunk *ret)
{
	struct arena arena = {0};
	struct removal removal;
	bool any;
	enum err error = mark(w, v, &arena, &removal, &any);

	if (error == ERR_OK) {
		error = chunk_view_move(w->from, v, w->to, any ? &removal : NULL, out, ret,
					w->fault);
		w->removed += any;
	}
	arena_release(&arena);
	return error;
}

/* ------------------------------------------------------------------ blocks */

/* Builds a block of the consecutive chunks in `bytes`. */
static enum err pack_block(struct rewriting *w, struct str bytes, const size_t *lengths, size_t n,
			   struct new_block *block)
{
	struct arena arena = {0};
	struct chunk_view *views = arena_alloc(&arena, (n + 1) * sizeof(*views));
	struct chunk_view **order = arena_alloc(&arena, (n + 1) * sizeof(*order));
	enum err error = views && order ? ERR_OK : ERR_NO_MEMORY;

	for (size_t i = 0; error == ERR_OK && i < n; i++) {
		error = chunk_open(str_n(bytes.p, lengths[i]), &arena, &views[i]);
		bytes = str_skip(bytes, lengths[i]);
		order[i] = &views[i];
	}
	block->at = w->bytes.n;
	if (error == ERR_OK)
		error = block_encode(order, n, &w->bytes);
	block->n = w->bytes.n - block->at;
	arena_release(&arena);
	return error;
}

static enum err rewrite_block(struct rewriting *w, struct db *reader, sqlite3_stmt *q)
{
	int64_t key = sqlite3_column_int64(q, 0);
	struct new_block fresh = {.info.window_ns = row_time_ns(key)};
	struct buf chunks = BUF_INIT(SIZE_MAX);
	struct block b = {0};
	enum err error = block_row_good(w->ds->day, reader, q)
				 ? block_open(db_column(q, 6), BLOCK_MEMORY, &b)
				 : ERR_DAMAGED;
	size_t *lengths = mem_zalloc(b.n + 1, sizeof(*lengths)), n = 0;

	if (error == ERR_OK && !lengths)
		error = ERR_NO_MEMORY;
	for (size_t i = 0; error == ERR_OK && i < b.n; i++) {
		size_t at = chunks.n;
		struct encoded_chunk info;

		error = rewrite_view(w, &b.chunks[i], &chunks, &info);
		if (error != ERR_OK || chunks.n == at)
			continue;
		lengths[n++] = chunks.n - at;
		if (!fresh.info.profiles || info.time_ns < fresh.info.first_ns)
			fresh.info.first_ns = info.time_ns;
		if (!fresh.info.profiles || info.time_ns > fresh.info.last_ns)
			fresh.info.last_ns = info.time_ns;
		fresh.info.profiles++;
		fresh.info.rows += info.rows;
	}
	if (error == ERR_OK && n)
		error = pack_block(w, buf_view(&chunks), lengths, n, &fresh);
	if (error == ERR_OK && n)
		error = vec_push(&w->blocks, fresh);
	block_release(&b);
	mem_free(lengths);
	buf_release(&chunks);
	return error;
}

static enum err rewrite_blocks(struct rewriting *w)
{
	struct day *d = w->ds->day;
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(day_reader(d, &reader, w->fault));
	error = db_query_with(reader, BLOCK_RANGE, &q, w->fault, atomic_load(&w->ds->id), 0,
			      INT64_MAX);
	while (error == ERR_OK && (error = db_step(reader, q, &row, w->fault)) == ERR_OK && row) {
		error = rewrite_block(w, reader, q);
		if (error != ERR_OK)
			db_reset(q);
	}
	if (error == ERR_OK)
		db_reset(q);
	day_reader_back(d, reader, error);
	return day_damaged(d, error, "a block", w->ds->name, w->fault);
}

/* ------------------------------------------------------------------ chunks */

static int by_key(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static enum err rewrite_chunk(struct rewriting *w, struct db *db, int64_t key, sqlite3_stmt *q)
{
	struct new_chunk fresh = {.key = key, .at = w->bytes.n};
	struct arena arena = {0};
	struct encoded_chunk info;
	struct chunk_view v;
	enum err error = chunk_row_open(w->ds->day, db, q, &arena, &v);

	if (error == ERR_OK)
		error = rewrite_view(w, &v, &w->bytes, &info);
	if (error == ERR_OK) {
		fresh.n = w->bytes.n - fresh.at;
		fresh.rows = info.rows;
		error = vec_push(&w->chunks, fresh);
	}
	arena_release(&arena);
	return error;
}

/* Fresh chunks that were not rewritten yet. */
static enum err rewrite_fresh(struct rewriting *w, struct db *db)
{
	size_t known = w->chunks.n;
	VEC(int64_t) keys = {0};
	enum err error = ERR_OK;

	mutex_lock(&w->ds->day->lists);
	vec_for_each (chunk, &w->ds->fresh)
		if (error == ERR_OK && !(known && bsearch(&chunk->key, w->chunks.v, known,
							  sizeof(*w->chunks.v), by_key)))
			error = vec_push(&keys, chunk->key);
	mutex_unlock(&w->ds->day->lists);
	for (size_t i = 0; error == ERR_OK && i < keys.n; i++) {
		sqlite3_stmt *q;
		bool row;

		error = db_query_with(db, CHUNK_GET, &q, w->fault, keys.v[i]);
		if (error != ERR_OK || (error = db_step(db, q, &row, w->fault)) != ERR_OK)
			break;
		if (row)
			error = rewrite_chunk(w, db, keys.v[i], q);
		db_reset(q);
	}
	if (w->chunks.n)
		qsort(w->chunks.v, w->chunks.n, sizeof(*w->chunks.v), by_key);
	vec_release(&keys);
	return day_damaged(w->ds->day, error, "a chunk", w->ds->name, w->fault);
}

/* ------------------------------------------------------------------ the swap */

static enum err write_new_chunks(struct rewriting *w, struct change *c)
{
	int64_t id = atomic_load(&w->ds->id);

	vec_for_each (chunk, &w->chunks) {
		struct str bytes = str_n(w->bytes.data + chunk->at, chunk->n);
		uint64_t seal;
		sqlite3_stmt *q;

		TRY(change_take_with(c, NULL, TALLY_CHUNKS, CHUNK_DELETE, w->fault, chunk->key));
		if (!chunk->n)
			continue;
		seal = seal_chunk(atomic_load(&c->day->key), chunk->key, id, chunk->rows, bytes);
		TRY(db_query_with(c->writer, CHUNK_ADD, &q, w->fault, chunk->key, id, chunk->rows,
				  (int64_t)seal));
		db_bind(q, 5, bytes);
		TRY(db_run(c->writer, q, w->fault));
		change_added(c, TALLY_CHUNKS, seal);
	}
	return ERR_OK;
}

static enum err write_new_index(struct rewriting *w, struct change *c)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIZE_MAX);
	struct partition_mark all = partition_mark(w->to);

	TRY(index_encode_all(w->to, &all, &bytes));
	TRY(index_delete(c, w->ds, w->fault));
	return index_rewrite(c, w->ds, dictionary_key(atomic_load(&w->ds->id), 1), buf_view(&bytes),
			     w->fault);
}

static enum err write_new_dictionary(struct rewriting *w, struct change *c)
{
	struct partition_mark from = w->to->persisted;
	uint32_t id = atomic_load(&w->ds->id);
	int64_t first = dictionary_key(id, 1), last = dictionary_key(id, UINT32_MAX);
	uint64_t seal;
	sqlite3_stmt *q;

	buf_clear(&c->bytes);
	TRY(partition_delta_encode(w->to, &from, DICTIONARY_LEVEL, &c->bytes));
	seal = seal_dictionary(atomic_load(&c->day->key), first, buf_view(&c->bytes));
	TRY(change_take_with(c, w->ds, TALLY_DICTIONARY, DICTIONARY_DELETE, w->fault,
			     dictionary_key(id, 0), last));
	TRY(change_added_of(c, w->ds, TALLY_DICTIONARY, seal));
	TRY(db_query_with(c->writer, DICTIONARY_ADD, &q, w->fault, first, (int64_t)seal));
	db_bind(q, 3, buf_view(&c->bytes));
	TRY(db_run(c->writer, q, w->fault));
	TRY(write_new_index(w, c));
	w->ds->row.series = (uint32_t)w->to->series.n;
	return ERR_OK;
}

static enum err write_all_new(struct rewriting *w, struct change *c)
{
	int64_t id = atomic_load(&w->ds->id);

	TRY(change_touch(c, w->ds));
	TRY(rewrite_fresh(w, c->writer));
	TRY(change_take_with(c, w->ds, TALLY_BLOCKS, BLOCK_DELETE_OF, w->fault, id));
	TRY(change_take_with(c, w->ds, TALLY_ROLLUPS, ROLLUP_DELETE_OF, w->fault, id));
	vec_for_each (block, &w->blocks)
		TRY(block_insert(c, w->ds, &block->info, str_n(w->bytes.data + block->at, block->n),
				 w->fault));
	TRY(write_new_chunks(w, c));
	return write_new_dictionary(w, c);
}

/* Questions are out, and what is queued waits for `write`. */
static enum err swap(struct rewriting *w)
{
	struct change c;
	enum err error = change_begin(&c, w->ds->day, w->fault);

	if (error != ERR_OK)
		return error;
	error = write_all_new(w, &c);
	if (error == ERR_OK) {
		/* In the partition's place before the lock of the file is given back. */
		w->ds->next_delta = 2;
		error = change_commit(&c, w->fault);
		if (error == ERR_OK) {
			w->to->persisted = w->to->prepared = partition_mark(w->to);
			atomic_fetch_sub(&w->ds->day->quota.series,
					 atomic_load(&w->ds->series) - (unsigned)w->to->series.n);
			atomic_store(&w->ds->series, (unsigned)w->to->series.n);
			service_replace(w->ds, w->to);
			w->to = NULL;
		}
	}
	if (error == ERR_OK) {
		mutex_lock(&w->ds->day->lists);
		day_service_clear_fresh(w->ds);
		vec_for_each (chunk, &w->chunks)
			if (chunk->n)
				day_service_add_fresh(w->ds, (struct fresh_chunk){chunk->key,
										  chunk->rows});
		mutex_unlock(&w->ds->day->lists);
	}
	return change_finish(&c, error);
}

enum err service_rewrite(struct rewriting *w)
{
	struct day *d = w->ds->day;
	struct db *reader = NULL;
	enum err error = partition_new(str_of(d->tenant->name), str_of(w->ds->name), d->name.day,
				       d->engine->base.seed, NULL, &w->to);

	if (error == ERR_OK)
		error = rewrite_blocks(w);
	if (error == ERR_OK)
		error = day_reader(d, &reader, w->fault);
	if (error == ERR_OK)
		error = rewrite_fresh(w, reader);
	day_reader_back(d, reader, error);
	if (error == ERR_OK && w->removed) {
		service_close(w->ds);
		error = swap(w);
		service_reopen(w->ds);
	}
	return error;
}

void rewriting_release(struct rewriting *w)
{
	choice_release(&w->choice);
	partition_free(w->to);
	buf_release(&w->bytes);
	vec_release(&w->blocks);
	vec_release(&w->chunks);
}
