/* Takes the oldest part of a day that must become smaller. */
#include <stdlib.h>

#include "store/upkeep.h"

/* Parts of a day of spans that go at once. */
#define SPAN_PARTS 8

/* ------------------------------------------------------------------ profiles of a day */

/* The end of the oldest window that holds anything; INT64_MAX when there is only one. */
static enum err oldest_window(struct day *d, int64_t *ret_end_ns, struct fault *fault)
{
	int64_t oldest = INT64_MAX, newest = INT64_MIN, first, last;
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(day_reader(d, &reader, fault));
	error = db_statement(reader, BLOCK_COUNT, &q, fault);
	if (error == ERR_OK && (error = db_step(reader, q, &row, fault)) == ERR_OK) {
		if (sqlite3_column_int64(q, 0)) {
			oldest = sqlite3_column_int64(q, 3);
			newest = sqlite3_column_int64(q, 4);
		}
		db_reset(q);
	}
	day_reader_back(d, reader, error);
	TRY(error);
	if (day_fresh_bounds(d, &first, &last)) {
		oldest = first < oldest ? first : oldest;
		newest = last > newest ? last : newest;
	}
	*ret_end_ns = INT64_MAX;
	if (newest > oldest && newest / WINDOW_NS != oldest / WINDOW_NS)
		*ret_end_ns = (oldest / WINDOW_NS + 1) * WINDOW_NS;
	return ERR_OK;
}

struct old_rows {
	VEC(int64_t) blocks, services, chunks;
};

static enum err find_old(struct day *d, struct db *writer, int64_t before, struct old_rows *ret,
			 struct fault *fault)
{
	struct day_service *ds;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(writer, BLOCK_BEFORE, &q, fault, before));
	while ((error = db_step(writer, q, &row, fault)) == ERR_OK && row) {
		error = vec_push(&ret->blocks, sqlite3_column_int64(q, 0));
		if (error == ERR_OK)
			error = vec_push(&ret->services, sqlite3_column_int64(q, 1));
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	for (size_t i = 0; (ds = day_service_at(d, i)); i++) {
		mutex_lock(&d->lists);
		vec_for_each (chunk, &ds->fresh)
			if (error == ERR_OK && chunk->key < before)
				error = vec_push(&ret->chunks, chunk->key);
		mutex_unlock(&d->lists);
	}
	return error;
}

static enum err delete_old(struct change *c, const struct old_rows *old, struct fault *fault)
{
	for (size_t i = 0; i < old->chunks.n; i++)
		TRY(change_take_with(c, NULL, TALLY_CHUNKS, CHUNK_DELETE, fault, old->chunks.v[i]));
	for (size_t i = 0; i < old->blocks.n; i++) {
		struct day_service *ds = day_service_by_id(c->day, (uint32_t)old->services.v[i]);

		if (!ds)
			continue;
		TRY(change_take_with(c, ds, TALLY_BLOCKS, BLOCK_DELETE, fault, old->blocks.v[i]));
		TRY(rollups_forget(c, ds, row_time_ns(old->blocks.v[i]), fault));
	}
	return ERR_OK;
}

static int by_key(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static enum err cut_before(struct day *d, int64_t end_ns, struct fault *fault)
{
	struct old_rows old = {0};
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	error = find_old(d, c.writer, row_key(end_ns, 0), &old, fault);
	if (error == ERR_OK)
		error = delete_old(&c, &old, fault);
	error = change_end(&c, error, fault);
	if (error == ERR_OK && old.chunks.n) {
		qsort(old.chunks.v, old.chunks.n, sizeof(*old.chunks.v), by_key);
		for (size_t i = 0; i < d->services.n; i++)
			day_service_remove_fresh(d->services.v[i], old.chunks.v, old.chunks.n);
	}
	vec_release(&old.blocks);
	vec_release(&old.services);
	vec_release(&old.chunks);
	return error;
}

static enum err checkpoint(struct day *d, struct fault *fault)
{
	struct db *writer;
	enum err error;

	TRY(day_writer(d, &writer, fault));
	error = db_checkpoint(writer, fault);
	mutex_unlock(&d->write);
	return error;
}

/* Checkpoint the WAL first, as far as there is space, because moving pages needs the WAL again. */
static enum err shrink_file(struct day *d, struct fault *fault)
{
	enum err error, last;

	(void)!checkpoint(d, NULL);
	error = day_shrink(d, fault);
	last = checkpoint(d, error == ERR_OK ? fault : NULL);
	return error == ERR_OK ? last : error;
}

enum err day_give_back(struct day *d, struct fault *fault)
{
	enum err error = shrink_file(d, fault);

	if (error != ERR_OK && embedded_make_room(d->engine, error))
		error = shrink_file(d, fault);
	return error;
}

/* Takes windows from the beginning of a day until the file is `excess` bytes smaller. */
static enum err cut_profiles(struct day *d, uint64_t excess, struct fault *fault)
{
	uint64_t begin = db_disk_bytes(d->path);
	int64_t end_ns = 0;
	enum err error;

	TRY(day_look_into(d, fault));
	mutex_lock(&d->upkeep);
	/* Pages of earlier deletes may not have been released, because the disk was full. */
	error = day_give_back(d, fault);
	while (error == ERR_OK && db_disk_bytes(d->path) + excess > begin) {
		error = oldest_window(d, &end_ns, fault);
		if (error != ERR_OK || end_ns == INT64_MAX)
			break;
		error = cut_before(d, end_ns, fault);
		if (error == ERR_OK)
			error = day_give_back(d, fault);
	}
	mutex_unlock(&d->upkeep);
	return error;
}

/* ------------------------------------------------------------------ spans of a day */

/* The end of the oldest part; 0 if there is too little to split. */
static enum err first_part(struct day *d, int64_t *ret_key, struct fault *fault)
{
	struct db *reader;
	sqlite3_stmt *q;
	bool row = false;
	enum err error;

	*ret_key = 0;
	TRY(day_reader(d, &reader, fault));
	error = db_statement(reader, SPAN_ENDS, &q, fault);
	if (error == ERR_OK && (error = db_step(reader, q, &row, fault)) == ERR_OK) {
		int64_t first = sqlite3_column_int64(q, 0), last = sqlite3_column_int64(q, 1);

		if (row && last - first >= SPAN_PARTS)
			*ret_key = first + (last - first) / SPAN_PARTS;
		db_reset(q);
	}
	day_reader_back(d, reader, error);
	return error;
}

static enum err delete_spans(struct day *d, int64_t before_key, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	error = change_take_with(&c, NULL, TALLY_SPANS, SPAN_DELETE_BEFORE, fault, before_key);
	error = change_end(&c, error, fault);
	atomic_store(&d->spans_counted, false);
	return error;
}

static enum err cut_spans(struct day *d, uint64_t excess, struct fault *fault)
{
	uint64_t begin = db_disk_bytes(d->path);
	int64_t key;
	enum err error;

	mutex_lock(&d->upkeep);
	do {
		error = first_part(d, &key, fault);
		if (error != ERR_OK || !key)
			break;
		error = delete_spans(d, key, fault);
		if (error == ERR_OK)
			error = day_give_back(d, fault);
	} while (error == ERR_OK && db_disk_bytes(d->path) + excess > begin);
	mutex_unlock(&d->upkeep);
	return error;
}

static enum err cut(struct day *d, uint64_t excess, struct fault *fault)
{
	return d->name.kind == DAY_SPANS ? cut_spans(d, excess, fault)
					 : cut_profiles(d, excess, fault);
}

enum err day_cut(struct day *d, uint64_t excess, enum store_deleted_why why, struct fault *fault)
{
	struct deletion_count count;
	enum err error;

	deletion_begin(&count, d);
	error = cut(d, excess, fault);
	if (error != ERR_OK && embedded_make_room(d->engine, error))
		error = cut(d, excess, fault);
	deletion_end(&count, d, why);
	return error;
}
