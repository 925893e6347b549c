/* Counts deletions, reports them to the log, and sums them by tenant. */
#include "store/upkeep.h"

/* 0 when it cannot be counted: a file that cannot be read is deleted all the same. */
static uint64_t count_rows(struct day *d, unsigned statement, int column)
{
	struct db *reader;
	sqlite3_stmt *q;
	uint64_t count = 0;
	bool row = false;
	enum err error;

	if (!atomic_load(&d->exists) || day_reader(d, &reader, NULL) != ERR_OK)
		return 0;
	error = db_statement(reader, statement, &q, NULL);
	if (error == ERR_OK)
		error = db_step(reader, q, &row, NULL);
	if (error == ERR_OK && row)
		count = (uint64_t)sqlite3_column_int64(q, column);
	if (error == ERR_OK)
		db_reset(q);
	day_reader_back(d, reader, error);
	return count;
}

uint64_t day_count(struct day *d)
{
	struct day_service *ds;
	uint64_t count;

	if (d->name.kind == DAY_SPANS)
		return count_rows(d, SPAN_COUNT, 0);
	/* Chunks in no block are known only to who has looked into the day. */
	(void)!day_look_into(d, NULL);
	count = count_rows(d, BLOCK_COUNT, 1);
	for (size_t i = 0; (ds = day_service_at(d, i)); i++) {
		mutex_lock(&d->lists);
		count += ds->fresh.n;
		mutex_unlock(&d->lists);
	}
	return count;
}

uint64_t service_bytes(struct day_service *ds)
{
	uint32_t id = atomic_load(&ds->id);
	struct db *reader;
	sqlite3_stmt *q;
	uint64_t bytes = 0;
	bool row = false;
	enum err error;

	if (day_reader(ds->day, &reader, NULL) != ERR_OK)
		return 0;
	error = db_query_with(reader, SERVICE_BYTES, &q, NULL, id, dictionary_key(id, 0),
			      dictionary_key(id, UINT32_MAX));
	if (error == ERR_OK)
		error = db_step(reader, q, &row, NULL);
	if (error == ERR_OK && row)
		bytes = (uint64_t)sqlite3_column_int64(q, 0);
	if (error == ERR_OK)
		db_reset(q);
	day_reader_back(ds->day, reader, error);
	return bytes;
}

void deletion_tell(struct day *d, enum store_deleted_why why, struct str service, uint64_t bytes,
		   uint64_t count)
{
	struct tenant_deleted *sum = &d->tenant->deleted[why];
	struct store_deleted deleted = {.why = why,
					.tenant = str_of(d->tenant->name),
					.service = service,
					.day = d->name.day,
					.spans = d->name.kind == DAY_SPANS,
					.bytes = bytes,
					.count = count};

	atomic_fetch_add(&sum->times, 1);
	atomic_fetch_add(&sum->bytes, bytes);
	atomic_fetch_add(&sum->count, count);
	store_tell(&d->engine->base, &(struct store_event){STORE_DELETED, .deleted = &deleted});
}

void deletion_begin(struct deletion_count *c, struct day *d)
{
	c->bytes = db_disk_bytes(d->path);
	c->count = day_count(d);
}

void deletion_end(const struct deletion_count *c, struct day *d, enum store_deleted_why why)
{
	uint64_t bytes = db_disk_bytes(d->path), count = day_count(d);

	/* Data written meanwhile reduces the result. */
	if (count < c->count || bytes < c->bytes)
		deletion_tell(d, why, (struct str){0}, bytes < c->bytes ? c->bytes - bytes : 0,
			      count < c->count ? c->count - count : 0);
}

enum err day_delete(struct day *d, enum store_deleted_why why, struct fault *fault)
{
	struct deletion_count c;

	deletion_begin(&c, d);
	TRY(day_drop(d, fault));
	deletion_tell(d, why, (struct str){0}, c.bytes, c.count);
	return ERR_OK;
}
