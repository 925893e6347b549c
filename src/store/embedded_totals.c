/*
 * Cache of the totals of services, kept with the index of a day and freed with it: a query over all
 * services reads only those that have changed since the last one.
 */
#include "store/embedded_index.h"
#include "store/service_totals.h"

static bool same_key(const struct totals_key *a, const struct totals_key *b)
{
	return a->version == b->version && a->before == b->before && a->days == b->days;
}

const struct service_totals *totals_find(const struct day_index *x, uint32_t at,
					 const struct totals_key *key)
{
	if (at >= x->totals.n || !x->totals.v[at].v || !same_key(&x->totals.v[at].key, key))
		return NULL;
	return x->totals.v[at].v;
}

static enum err make_room(struct day_index *x)
{
	size_t n = x->table.services.n - x->totals.n;

	TRY(vec_reserve(&x->totals, n));
	memset(x->totals.v + x->totals.n, 0, n * sizeof(*x->totals.v));
	x->totals.n += n;
	return ERR_OK;
}

size_t totals_memory(const struct day_index *x)
{
	return x->totals_bytes + x->totals.cap * sizeof(*x->totals.v);
}

static void forget(struct day_index *x, struct cached_totals *c)
{
	x->totals_bytes -= c->v ? c->v->bytes : 0;
	mem_free(c->v);
	*c = (struct cached_totals){0};
}

/* An index that takes most of the memory would be evicted as soon as it is idle. */
static bool fits(const struct day_index *x, size_t bytes)
{
	return series_index_memory(&x->table) + totals_memory(x) + bytes <=
	       x->day->engine->memory_ceiling / 2;
}

void totals_keep(struct day_index *x, uint32_t at, const struct totals_key *key,
		 struct service_totals *totals)
{
	if (at >= x->totals.n && (at >= x->table.services.n || make_room(x) != ERR_OK)) {
		mem_free(totals);
		return;
	}
	forget(x, &x->totals.v[at]);
	if (!fits(x, totals->bytes)) {
		mem_free(totals);
		return;
	}
	x->totals.v[at] = (struct cached_totals){*key, totals};
	x->totals_bytes += totals->bytes;
}

void totals_release(struct day_index *x)
{
	vec_for_each (c, &x->totals)
		forget(x, c);
	vec_release(&x->totals);
}

/* ------------------------------------------------------------------ when profiles start */

static void widen(struct time_span *span, int64_t from_ns, int64_t until_ns)
{
	span->from_ns = from_ns < span->from_ns ? from_ns : span->from_ns;
	span->until_ns = until_ns > span->until_ns ? until_ns : span->until_ns;
}

/* A block contains profiles that start in its window. */
static enum err blocks_start(struct day_service *ds, struct db *reader, struct time_span *span,
			     struct fault *fault)
{
	int64_t id = atomic_load(&ds->id);
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, BLOCK_KEYS, &q, fault, id, id));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		int64_t window = row_time_ns(sqlite3_column_int64(q, 0));

		widen(span, window, add_saturating(window, WINDOW_NS));
	}
	db_reset(q);
	return error;
}

enum err embedded_starts(void *engine, struct partition *p, struct time_span *ret,
			 struct fault *fault)
{
	struct day_service *ds = p->engine;
	struct time_span span = {INT64_MAX, INT64_MIN};
	struct db *reader = NULL;
	enum err error;

	(void)engine;
	mutex_lock(&ds->day->lists);
	/* Keys are milliseconds. */
	vec_for_each (chunk, &ds->fresh)
		widen(&span, row_time_ns(chunk->key), row_time_ns(chunk->key) + 1000000);
	mutex_unlock(&ds->day->lists);
	error = day_reader(ds->day, &reader, fault);
	if (error == ERR_OK)
		error = blocks_start(ds, reader, &span, fault);
	day_reader_back(ds->day, reader, error);
	if (error == ERR_OK)
		*ret = span;
	return error;
}
