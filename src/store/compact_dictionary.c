/*
 * The rows of a dictionary become one. Every commit that brings something new adds a row; what they
 * say together is smaller, and faster to load.
 */
#include "store/embedded_index.h"
#include "store/upkeep.h"

#define DICTIONARY_LEVEL 1
/* A dictionary of at most so many stacks is written from memory, where writers of its service wait
 * some milliseconds; a larger one is read from the file. */
#define MEMORY_STACKS	 20000

/* The start mark of deltas of a new partition. */
static enum err first_mark(struct day_service *ds, struct partition_mark *ret)
{
	struct partition *p;

	TRY(partition_new(STR("x"), STR("x"), 0, ds->day->engine->base.seed, NULL, &p));
	*ret = p->persisted;
	partition_free(p);
	return ERR_OK;
}

/* Counts the rows, on the writing connection, so that no row is added meanwhile. */
struct rows {
	int64_t last, n;
	struct partition_mark end; /* of the partition, when there is one */
};

static enum err count_rows(struct day_service *ds, const struct partition *p, struct rows *ret,
			   struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);
	struct db *writer;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(day_writer(ds->day, &writer, fault));
	error = db_query_with(writer, DICTIONARY_LAST, &q, fault, dictionary_key(id, 0),
			      dictionary_key(id, UINT32_MAX));
	if (error == ERR_OK)
		error = db_step(writer, q, &row, fault);
	if (error == ERR_OK) {
		ret->last = sqlite3_column_int64(q, 0);
		ret->n = sqlite3_column_int64(q, 1);
		db_reset(q);
	}
	if (p)
		ret->end = p->persisted;
	mutex_unlock(&ds->day->write);
	return error;
}

/* The new row of the dictionary, and of the index. */
struct encoded {
	struct buf dictionary, index;
};

static void encoded_release(struct encoded *e)
{
	buf_release(&e->dictionary);
	buf_release(&e->index);
}

static enum err encode_from_memory(struct partition *p, const struct partition_mark *from,
				   const struct partition_mark *to, struct encoded *out)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(SIZE_MAX);
	enum err error;

	mutex_lock(&p->lock);
	error = partition_delta_body(p, from, to, &body);
	if (error == ERR_OK)
		error = index_encode_all(p, to, &out->index);
	mutex_unlock(&p->lock);
	TRY(error);
	return partition_delta_seal(buf_view(&body), from, to, DICTIONARY_LEVEL, &out->dictionary);
}

/* Merges the rows up to `last` into one. Rows added meanwhile come after it and stay. */
static enum err encode_from_file(struct day_service *ds, const struct partition_mark *from,
				 int64_t last, struct encoded *out, struct fault *fault)
{
	struct partition *p = NULL;
	struct db *reader;
	enum err error;

	TRY(day_reader(ds->day, &reader, fault));
	error = service_load(ds, reader, last, &p, fault);
	day_reader_back(ds->day, reader, error);
	if (error == ERR_OK)
		error = partition_delta_encode(p, from, DICTIONARY_LEVEL, &out->dictionary);
	if (error == ERR_OK)
		error = index_encode_all(p, &p->persisted, &out->index);
	partition_free(p);
	return error;
}

enum err dictionary_put(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
			struct fault *fault)
{
	uint64_t seal = seal_dictionary(atomic_load(&c->day->key), last, bytes);
	sqlite3_stmt *q;

	TRY(change_take_with(c, ds, TALLY_DICTIONARY, DICTIONARY_DELETE, fault,
			     dictionary_key(atomic_load(&ds->id), 0), last));
	TRY(change_added_of(c, ds, TALLY_DICTIONARY, seal));
	TRY(db_query_with(c->writer, DICTIONARY_ADD, &q, fault, last, (int64_t)seal));
	db_bind(q, 3, bytes);
	return db_run(c->writer, q, fault);
}

static enum err put(struct day_service *ds, int64_t last, const struct encoded *bytes,
		    struct fault *fault)
{
	struct change c;
	enum err error;

	TRY(change_begin(&c, ds->day, fault));
	error = dictionary_put(&c, ds, last, buf_view(&bytes->dictionary), fault);
	if (error == ERR_OK)
		error = index_rewrite(&c, ds, last, buf_view(&bytes->index), fault);
	return change_end(&c, error, fault);
}

static enum err make_one(struct day_service *ds, struct partition *p, unsigned least_rows,
			 struct fault *fault)
{
	CLEANUP(encoded_release)
	struct encoded bytes = {BUF_INIT(SIZE_MAX), BUF_INIT(SIZE_MAX)};
	struct partition_mark from;
	struct rows rows = {0};

	TRY(count_rows(ds, p, &rows, fault));
	if (rows.n < least_rows)
		return ERR_OK;
	TRY(first_mark(ds, &from));
	if (p && rows.end.stacks <= MEMORY_STACKS)
		TRY(encode_from_memory(p, &from, &rows.end, &bytes));
	else
		TRY(encode_from_file(ds, &from, rows.last, &bytes, fault));
	return put(ds, rows.last, &bytes, fault);
}

enum err dictionary_compact(struct day_service *ds, unsigned least_rows, struct fault *fault)
{
	struct partition *p = service_loaded(ds);
	enum err error = atomic_load(&ds->id) ? make_one(ds, p, least_rows, fault) : ERR_OK;

	if (p)
		partition_give_back(ds->day->engine, p);
	return error;
}
