/* The index rows of a day's file, as parts of transactions; the keeper adds those that are missing. */
#include "store/embedded_index.h"

#define INDEX_LEVEL	 1
#define SERVICES_AT_ONCE 64

static enum err put_row(struct change *c, struct day_service *ds, int64_t key, struct str bytes,
			struct fault *fault)
{
	uint64_t seal = seal_index(atomic_load(&c->day->key), key, bytes);
	sqlite3_stmt *q;

	/* Delete an index row without a dictionary row. */
	TRY(change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault, key, key));
	TRY(change_added_of(c, ds, TALLY_INDEX, seal));
	TRY(db_query_with(c->writer, INDEX_PUT, &q, fault, key, (int64_t)seal));
	db_bind(q, 3, bytes);
	return db_run(c->writer, q, fault);
}

enum err index_encode_all(const struct partition *p, const struct partition_mark *to,
			  struct buf *out)
{
	struct series_mark first = SERIES_MARK_BASE, last = series_mark_of(to);

	return series_delta_encode(p, &first, &last, INDEX_LEVEL, out);
}

enum err index_write(struct change *c, struct day_service *ds, struct str bytes,
		     struct fault *fault)
{
	struct index_news news = {.service = ds->new_id};

	if (!bytes.n)
		return ERR_OK;
	TRY(put_row(c, ds, dictionary_key(ds->new_id, ds->next_delta), bytes, fault));
	TRY(vec_reserve(&c->news, 1));
	news.delta = str_n(mem_strndup(bytes.p, bytes.n), bytes.n);
	if (!news.delta.p)
		return ERR_NO_MEMORY;
	c->news.v[c->news.n++] = news;
	return ERR_OK;
}

enum err index_delete(struct change *c, struct day_service *ds, struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);

	return change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault, dictionary_key(id, 0),
				dictionary_key(id, UINT32_MAX));
}

enum err index_rewrite(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
		       struct fault *fault)
{
	TRY(change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault,
			     dictionary_key(atomic_load(&ds->id), 0), last));
	return bytes.n ? put_row(c, ds, last, bytes, fault) : ERR_OK;
}

/* ------------------------------------------------------------------ older files */

static enum err write_service(struct change *c, struct day_service *ds, struct fault *fault)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIZE_MAX);
	uint32_t id = atomic_load(&ds->id);
	struct partition *p;
	int64_t last = 0;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(c->writer, DICTIONARY_LAST, &q, fault, dictionary_key(id, 0),
			  dictionary_key(id, UINT32_MAX)));
	error = db_step(c->writer, q, &row, fault);
	if (error == ERR_OK)
		last = sqlite3_column_int64(q, 0);
	db_reset(q);
	TRY(error);
	if (!last)
		return ERR_OK;
	TRY(service_partition(ds, &p, fault));
	mutex_lock(&p->lock);
	error = index_encode_all(p, &p->persisted, &bytes);
	mutex_unlock(&p->lock);
	partition_give_back(ds->day->engine, p);
	TRY(error);
	return index_rewrite(c, ds, last, buf_view(&bytes), fault);
}

/* Writes the rows of some services in one transaction. */
static enum err write_some(struct day *d, const uint32_t *ids, size_t n, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	for (size_t i = 0; error == ERR_OK && i < n; i++) {
		struct day_service *ds = day_service_by_id(d, ids[i]);

		if (ds)
			error = write_service(&c, ds, fault);
		/* Skip a service with a damaged dictionary. */
		if (is_damage(error))
			error = ERR_OK;
	}
	return change_end(&c, error, fault);
}

struct id_list {
	VEC(uint32_t) v;
};

/* Lists the services without rows. */
static enum err find_unwritten(struct day *d, struct id_list *ret, struct fault *fault)
{
	struct day_index *x;
	enum err error;

	TRY(index_get(d, &x, fault));
	error = vec_append(&ret->v, x->unwritten.v, x->unwritten.n);
	index_put(x);
	return error;
}

static enum err is_marked(struct day *d, bool *ret, struct fault *fault)
{
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	*ret = false;
	TRY(day_reader(d, &reader, fault));
	error = index_has_table(reader, &row, fault);
	if (error == ERR_OK && row) {
		error = db_statement(reader, INDEX_MARK, &q, fault);
		if (error == ERR_OK && (error = db_step(reader, q, ret, fault)) == ERR_OK)
			db_reset(q);
	}
	day_reader_back(d, reader, error);
	return error;
}

static enum err put_mark(struct day *d, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	return change_end(&c, db_run_with(c.writer, INDEX_SET_MARK, fault, 0), fault);
}

enum err index_catch_up(struct day *d, struct fault *fault)
{
	struct id_list ids = {0};
	bool marked;
	enum err error;

	if (atomic_load(&d->index_whole) || !atomic_load(&d->exists))
		return ERR_OK;
	TRY(is_marked(d, &marked, fault));
	error = marked ? ERR_OK : find_unwritten(d, &ids, fault);
	for (size_t i = 0; error == ERR_OK && i < ids.v.n; i += SERVICES_AT_ONCE)
		error = write_some(d, ids.v.v + i,
				   ids.v.n - i < SERVICES_AT_ONCE ? ids.v.n - i : SERVICES_AT_ONCE,
				   fault);
	vec_release(&ids.v);
	if (error == ERR_OK && !marked)
		error = put_mark(d, fault);
	if (error == ERR_OK)
		atomic_store(&d->index_whole, true);
	return error;
}
