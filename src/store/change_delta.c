/*
 * New dictionary entries on their way to the file. The uploading thread encodes them before it
 * queues a batch, so that the commit thread only writes bytes and never waits for interning
 * threads. The entries for a batch's chunks are prepared when the batch is queued; entries prepared
 * meanwhile by others of the service are written with them.
 */
#include "store/embedded_index.h"

static enum err encode(const struct partition *p, struct prepared_delta *d)
{
	struct series_mark from = series_mark_of(&d->from), to = series_mark_of(&d->to);

	TRY(partition_delta_encode(p, &d->from, 0, &d->dictionary));
	return series_delta_encode(p, &from, &to, 0, &d->index);
}

static void append(struct embedded *e, struct partition *p, struct prepared_delta *d)
{
	engine_lock(e);
	if (p->prepared_last)
		p->prepared_last->next = d;
	else
		p->prepared_first = d;
	p->prepared_last = d;
	engine_unlock(e);
	atomic_fetch_add(&p->prepared_bytes, d->dictionary.cap + d->index.cap);
}

/* With the partition's lock. */
static enum err prepare(struct embedded *e, struct partition *p)
{
	struct partition_mark to = partition_mark(p);
	struct prepared_delta *d;
	enum err error;

	if (partition_mark_equal(&p->prepared, &to))
		return ERR_OK;
	d = mem_zalloc(1, sizeof(*d));
	if (!d)
		return ERR_NO_MEMORY;
	d->from = p->prepared;
	d->to = to;
	d->dictionary = BUF_INIT(SIZE_MAX);
	d->index = BUF_INIT(SIZE_MAX);
	error = encode(p, d);
	if (error != ERR_OK) {
		prepared_delta_free(d);
		return error;
	}
	p->prepared = to;
	append(e, p, d);
	return ERR_OK;
}

enum err delta_prepare(struct embedded *e, struct partition *p)
{
	enum err error;

	mutex_lock(&p->lock);
	error = prepare(e, p);
	mutex_unlock(&p->lock);
	return error;
}

struct prepared_delta *delta_written(struct partition *p, struct prepared_delta *last,
				     struct prepared_delta *others)
{
	struct prepared_delta *first = p->prepared_first;

	for (struct prepared_delta *d = first; d; d = d == last ? NULL : d->next)
		atomic_fetch_sub(&p->prepared_bytes, d->dictionary.cap + d->index.cap);
	p->prepared_first = last->next;
	if (!last->next)
		p->prepared_last = NULL;
	last->next = others;
	return first;
}

void delta_free_chain(struct prepared_delta *d)
{
	while (d) {
		struct prepared_delta *next = d->next;

		prepared_delta_free(d);
		d = next;
	}
}

/* ------------------------------------------------------------------ writing */

static enum err find_next_row(struct change *c, struct day_service *ds, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(c->writer, DICTIONARY_LAST, &q, fault, dictionary_key(ds->new_id, 0),
			  dictionary_key(ds->new_id, UINT32_MAX)));
	error = db_step(c->writer, q, &row, fault);
	if (error == ERR_OK)
		ds->next_delta = (uint32_t)sqlite3_column_int64(q, 0) + 1;
	db_reset(q);
	return error;
}

static enum err write_one(struct change *c, struct day_service *ds, const struct prepared_delta *d,
			  struct fault *fault)
{
	sqlite3_stmt *q;
	uint64_t seal;
	int64_t key;

	if (!ds->next_delta)
		TRY(find_next_row(c, ds, fault));
	key = dictionary_key(ds->new_id, ds->next_delta);
	seal = seal_dictionary(atomic_load(&c->day->key), key, buf_view(&d->dictionary));
	TRY(db_query_with(c->writer, DICTIONARY_ADD, &q, fault, key, (int64_t)seal));
	db_bind(q, 3, buf_view(&d->dictionary));
	TRY(db_run(c->writer, q, fault));
	TRY(change_added_of(c, ds, TALLY_DICTIONARY, seal));
	TRY(index_write(c, ds, buf_view(&d->index), fault));
	ds->row.series = d->to.series;
	ds->next_delta++;
	return ERR_OK;
}

/* The next that this transaction did not write yet. */
static struct prepared_delta *next_delta(const struct day_service *ds, const struct partition *p)
{
	struct prepared_delta *next;

	engine_lock(ds->day->engine);
	next = ds->delta_of == p && ds->delta_last ? ds->delta_last->next : p->prepared_first;
	engine_unlock(ds->day->engine);
	return next;
}

enum err change_delta(struct change *c, struct day_service *ds, struct partition *p,
		      struct fault *fault)
{
	struct prepared_delta *d;

	TRY(change_service(c, ds, fault));
	while ((d = next_delta(ds, p))) {
		TRY(write_one(c, ds, d, fault));
		ds->delta_of = p;
		ds->delta_end = d->to;
		ds->delta_last = d;
	}
	return ERR_OK;
}
