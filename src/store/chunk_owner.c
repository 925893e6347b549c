/*
 * A fresh chunk whose seal is wrong. If one column of its row was altered, the seal fits once that
 * column has the value it was written with, so the service that the chunk belongs to is certain. Then
 * only queries that need this chunk fail, and not all of the day.
 */
#include "store/embedded.h"

struct altered_row {
	int64_t id, service, rows;
	struct str data;
	uint64_t seal;
};

static bool fits(const struct day *d, const struct altered_row *r, int64_t service, int64_t rows,
		 struct str data)
{
	return seal_chunk(atomic_load(&d->key), r->id, service, rows, data) == r->seal;
}

/* The content has what the first bytes of it must be: version and checksum. */
static bool fits_with_head(const struct day *d, const struct altered_row *r)
{
	char head[BLOB_HEAD];

	if (r->data.n < BLOB_HEAD)
		return false;
	blob_head(r->data, CHUNK_VERSION, head);
	/* seal_blob reads these bytes and the length. */
	return fits(d, r, r->service, r->rows, str_n(head, r->data.n));
}

/* The content has its number of rows, too. */
static bool fits_with_rows(const struct day *d, const struct altered_row *r)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct chunk_view v;

	return chunk_open(r->data, &arena, &v) == ERR_OK &&
	       fits(d, r, r->service, v.head.rows, r->data);
}

static struct day_service *fits_with_service(struct day *d, const struct altered_row *r)
{
	struct day_service *some[SERVICES_PORTION];
	size_t n;

	for (size_t i = 0; (n = day_services_from(d, i, some, SERVICES_PORTION)); i += n)
		for (size_t k = 0; k < n; k++)
			if (fits(d, r, atomic_load(&some[k]->id), r->rows, r->data))
				return some[k];
	return NULL;
}

struct day_service *chunk_owner(struct day *d, sqlite3_stmt *q)
{
	struct altered_row r = {
		.id = sqlite3_column_int64(q, 0),
		.service = sqlite3_column_int64(q, 1),
		.rows = sqlite3_column_int64(q, 2),
		.data = db_column(q, 3),
		.seal = (uint64_t)sqlite3_column_int64(q, 4),
	};

	if (fits_with_head(d, &r) || fits_with_rows(d, &r))
		return day_service_by_id(d, (uint32_t)r.service);
	return fits_with_service(d, &r);
}
