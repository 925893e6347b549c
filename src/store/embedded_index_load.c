/* Reads the index of a day from the index rows of its file, or from dictionaries. */
#include "store/embedded_index.h"

enum err index_has_table(struct db *reader, bool *ret, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(reader, INDEX_TABLE, &q, fault));
	error = db_step(reader, q, &row, fault);
	*ret = error == ERR_OK && row && sqlite3_column_int64(q, 0);
	db_reset(q);
	return error;
}

/* Rows read per service, by id. */
struct rows_found {
	VEC(struct service_rows {
		uint32_t id;
		bool bad; /* a row is unusable */
		struct tally tally;
	})
	v;
};

static enum err rows_of(struct rows_found *found, uint32_t id, struct service_rows **ret)
{
	if (!found->v.n || found->v.v[found->v.n - 1].id != id)
		TRY(vec_push(&found->v, ((struct service_rows){.id = id})));
	*ret = &found->v.v[found->v.n - 1];
	return ERR_OK;
}

static enum err read_row(struct day_index *x, struct db *reader, sqlite3_stmt *q,
			 struct rows_found *found)
{
	int64_t key = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 2);
	uint32_t id = (uint32_t)(key >> 32);
	struct str data = db_column(q, 1);
	struct service_rows *rows;
	enum err error = ERR_DAMAGED;

	/* Row 0 is the mark of index_catch_up. */
	if (!id)
		return ERR_OK;
	TRY(rows_of(found, id, &rows));
	tally_add(&rows->tally, (uint64_t)seal);
	if (rows->bad)
		return ERR_OK;
	if (day_seal_good(x->day, reader, seal, seal_index(atomic_load(&x->day->key), key, data)))
		error = series_delta_apply(&x->table, id, data);
	if (error == ERR_OK || error == ERR_NO_MEMORY)
		return error;
	/* Damaged, or of another version: read the dictionary instead. */
	rows->bad = true;
	series_index_forget(&x->table, id);
	return ERR_OK;
}

static enum err read_rows(struct day_index *x, struct db *reader, struct rows_found *found,
			  struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(index_has_table(reader, &row, fault));
	if (!row)
		return ERR_OK;
	TRY(db_statement(reader, INDEX_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		error = read_row(x, reader, q, found);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

static enum err index_partition(struct series_index *table, uint32_t id, const struct partition *p)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIZE_MAX);
	struct series_mark from = SERIES_MARK_BASE, to = series_mark_of(&p->persisted);

	series_index_forget(table, id);
	TRY(series_delta_encode(p, &from, &to, 0, &bytes));
	return bytes.n ? series_delta_apply(table, id, buf_view(&bytes)) : ERR_OK;
}

static enum err read_dictionary(struct day_index *x, struct day_service *ds, struct db *reader,
				struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);
	struct partition *p;
	enum err error;

	TRY(vec_push(&x->unwritten, id));
	error = service_load(ds, reader, dictionary_key(id, UINT32_MAX), &p, NULL);
	/* Queries that concern it report the damage. */
	if (is_damage(error)) {
		series_index_forget(&x->table, id);
		return vec_push(&x->damaged, id);
	}
	if (error != ERR_OK)
		return fault_set(fault, error, "%s: %s", x->day->path, err_text(error));
	error = index_partition(&x->table, id, p);
	partition_free(p);
	return error;
}

/* A loaded partition has the times of its profiles. */
static void read_times(struct day_index *x, struct day_service *ds)
{
	struct index_service *s = series_index_service(&x->table, atomic_load(&ds->id));
	struct partition *p = s ? service_loaded(ds) : NULL;

	if (!p)
		return;
	mutex_lock(&p->lock);
	for (size_t i = 0; i < s->series.n && i < p->series.n; i++) {
		struct index_series *to = &x->table.series.v[s->series.v[i]];

		to->first_ns = p->series.v[i].first_ns;
		to->last_ns = p->series.v[i].last_ns;
	}
	mutex_unlock(&p->lock);
	partition_give_back(x->day->engine, p);
}

/* Whether the index rows of a service match its tally and reach the end of its dictionary. */
static bool are_whole(struct day_index *x, struct db *reader, sqlite3_stmt *q,
		      const struct service_rows *rows)
{
	struct index_service *s = series_index_service(&x->table, rows->id);
	uint64_t series = (uint64_t)sqlite3_column_int64(q, 2);
	struct tally expected[SERVICE_TALLIES];

	if (rows->bad || series != (s ? s->end.series : 0))
		return false;
	return reader->version < DAY_SEALED_VERSION ||
	       (tally_read(db_column(q, 3), expected, SERVICE_TALLIES) &&
		tally_equal(&rows->tally, &expected[TALLY_INDEX]));
}

/* Checks the services of the file. */
static enum err check_services(struct day_index *x, struct db *reader,
			       const struct rows_found *found, struct fault *fault)
{
	sqlite3_stmt *q;
	size_t at = 0;
	bool row;
	enum err error;

	TRY(db_statement(reader, SERVICE_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		uint32_t id = (uint32_t)sqlite3_column_int64(q, 0);
		struct day_service *ds = day_service_by_id(x->day, id);
		struct service_rows rows = {.id = id};

		/* Both are sorted by id. */
		while (at < found->v.n && found->v.v[at].id < id)
			at++;
		if (at < found->v.n && found->v.v[at].id == id)
			rows = found->v.v[at];
		if (!ds)
			continue;
		if (!are_whole(x, reader, q, &rows))
			error = read_dictionary(x, ds, reader, fault);
		read_times(x, ds);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

enum err index_load(struct day_index *x, struct fault *fault)
{
	struct day *d = x->day;
	struct rows_found found = {0};
	struct db *reader = NULL;
	enum err error = series_index_init(&x->table, d->engine->base.seed);

	if (error == ERR_OK && atomic_load(&d->exists)) {
		error = day_reader(d, &reader, fault);
		if (error == ERR_OK)
			error = db_begin(reader, false, fault);
		if (error == ERR_OK)
			error = read_rows(x, reader, &found, fault);
		if (error == ERR_OK)
			error = check_services(x, reader, &found, fault);
		day_reader_back(d, reader, error);
	}
	vec_release(&found.v);
	if (error == ERR_OK)
		x->loaded = true;
	return day_damaged(d, error, "the index of series", NULL, fault);
}
