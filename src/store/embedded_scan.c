/* Questions: which partitions there are, and what a partition has in a range of time. */
#include <stdlib.h>

#include "store/coverage.h"
#include "store/embedded_index.h"
#include "store/row_cut.h"
#include "store/reach.h"
#include "store/upkeep.h"

#define DEFAULT_MEMORY (256u << 20)

/* ------------------------------------------------------------------ partitions */

/* Questions and the replacement of a partition keep out of each other's way. */
void question_begin(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	engine_lock(e);
	while (ds->closing)
		cond_wait(&e->changed, &e->lock);
	ds->questions++;
	engine_unlock(e);
}

void question_end(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	engine_lock(e);
	if (--ds->questions == 0 && ds->closing)
		cond_broadcast(&e->changed);
	engine_unlock(e);
}

/* Parameters of a walk over partitions. */
struct seeking {
	const struct selection *selection;
	int64_t since_ns;
	struct ask *ask;
	enum err (*each)(void *, struct partition *);
	void *context;
};

/* Whether its day is in the range, or something of it reaches into that. */
static bool is_wanted(struct day_service *ds, const struct seeking *k)
{
	int64_t end = (ds->day->name.day + 1) * NS_PER_DAY;

	return end > k->selection->from_ns ||
	       reach_after_day(ds, k->since_ns, k->selection->from_ns);
}

static enum err each_service(struct day_service *ds, const struct seeking *k)
{
	struct fault *fault = k->ask ? k->ask->fault : NULL;
	struct partition *p;
	bool takes;
	enum err error;

	if (ask_cancelled(k->ask))
		return fault_set(fault, ERR_CANCELLED, "the query was cancelled");
	TRY(selection_takes_service(k->selection, str_of(ds->name), &takes));
	/* Not in the file: only begun, or gone since it was found. */
	if (!takes || !ds->id || !is_wanted(ds, k))
		return ERR_OK;
	question_begin(ds);
	error = ask_forgive(k->ask, service_verify(ds, fault), fault);
	if (error == ERR_OK)
		error = service_partition(ds, &p, fault);
	if (error == ERR_OK) {
		error = k->each(k->context, p);
		partition_give_back(ds->day->engine, p);
	}
	question_end(ds);
	return ask_forgive(k->ask, error, fault);
}

/* Whether a selection names its service. */
static bool names_service(const struct selection *s, struct str *ret)
{
	for (size_t i = 0; i < s->matcher_count; i++)
		if (s->matchers[i].op == MATCH_EQUAL && s->matchers[i].value.n &&
		    str_eq(s->matchers[i].name, STR("service_name"))) {
			*ret = s->matchers[i].value;
			return true;
		}
	return false;
}

/* Only services that may match: no other dictionaries are read. Times of series are checked by
 * chunk. */
static enum err find_services(struct day *d, const struct seeking *k, struct service_list *ret)
{
	struct selection any_time = *k->selection;
	struct listed_service one = {.at = MAP_NONE};
	struct str name;
	struct day_index *x;
	enum err error;

	if (names_service(k->selection, &name)) {
		one.service = day_service_find(d, name);
		return one.service ? vec_push(&ret->v, one) : ERR_OK;
	}
	any_time.from_ns = INT64_MIN;
	any_time.until_ns = INT64_MAX;
	TRY(index_get(d, &x, k->ask ? k->ask->fault : NULL));
	error = index_list(x, &any_time, k->ask, ret);
	index_put(x);
	return error;
}

static enum err each_of_day(struct day *d, const struct seeking *k)
{
	struct service_list services = {0};
	enum err error = day_ask(d, k->ask);

	if (error == ERR_OK)
		error = find_services(d, k, &services);
	for (size_t i = 0; error == ERR_OK && i < services.v.n; i++)
		error = each_service(services.v.v[i].service, k);
	vec_release(&services.v);
	/* Ignore errors of a day that was deleted meanwhile. */
	return atomic_load(&d->gone) && error != ERR_CANCELLED ? ERR_OK : error;
}

enum err embedded_partitions(void *engine, struct str tenant, const struct selection *selection,
			     int64_t since_ns, struct ask *ask,
			     enum err (*each)(void *, struct partition *), void *context)
{
	struct seeking seeking = {selection, since_ns, ask, each, context};
	struct fault *fault = ask ? ask->fault : NULL;
	int64_t from = selection->from_ns;
	struct day_list days = {0};
	struct tenant *t;
	enum err error = tenant_get(engine, tenant, false, &t, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK; /* a tenant that never wrote has nothing */
	TRY(error);
	if (from >= selection->until_ns)
		return ERR_OK;
	/* Of the days before only what reaches into the range. */
	if (since_ns <= from)
		from = add_saturating(since_ns, -PROFILE_LONGEST_NS);
	TRY(days_of_range(t, DAY_PROFILES, from, selection->until_ns, &days, fault));
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = ask_forgive(ask, each_of_day(days.v.v[i], &seeking), fault);
	day_list_put(&days);
	return error;
}

static enum err name_service(struct day_service *ds, const struct selection *selection,
			     enum err (*each)(void *, struct str), void *context)
{
	bool takes;

	if (!atomic_load(&ds->id) || !atomic_load(&ds->series))
		return ERR_OK;
	TRY(selection_takes_service(selection, str_of(ds->name), &takes));
	return takes ? each(context, str_of(ds->name)) : ERR_OK;
}

static enum err name_services(struct day *d, const struct selection *selection, struct ask *ask,
			      enum err (*each)(void *, struct str), void *context)
{
	enum err error = day_ask(d, ask);

	for (size_t i = 0; error == ERR_OK; i++) {
		struct day_service *ds = day_service_at(d, i);

		if (!ds)
			break;
		if (ask_cancelled(ask))
			return ERR_CANCELLED;
		error = name_service(ds, selection, each, context);
	}
	return error;
}

enum err embedded_services(void *engine, struct str tenant, const struct selection *selection,
			   struct ask *ask, enum err (*each)(void *, struct str), void *context)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct day_list days = {0};
	struct tenant *t;
	enum err error = tenant_get(engine, tenant, false, &t, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(error);
	TRY(days_of_range(t, DAY_PROFILES, selection->from_ns, selection->until_ns, &days, fault));
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = ask_forgive(ask, name_services(days.v.v[i], selection, ask, each, context),
				    fault);
	day_list_put(&days);
	return error;
}

/* ------------------------------------------------------------------ scanning */

struct scanner {
	struct day_service *ds;
	const struct scan *scan;
	struct fault *fault;
	struct db *reader;
	/* Windows of long profiles, and the time from which all windows are read. */
	struct window_list windows;
	int64_t low_ns;
	/* Sorted keys of fresh chunks; the first `shown` were passed to the query. */
	struct key_list {
		VEC(int64_t) v;
	} fresh;
	size_t shown;
	size_t max_memory;
};

static bool in_range(const struct scan *scan, const struct chunk_view *v)
{
	if (v->head.flags & CHUNK_ROLLUP)
		return false;
	return profile_touches(&v->head, scan->from_ns, scan->until_ns) ||
	       (v->head.time_ns >= scan->since_ns && v->head.time_ns < scan->until_ns);
}

/* Fails for a damaged part, or records it if the query accepts partial results. */
static enum err damaged_part(struct scanner *s, enum err error, const char *what)
{
	struct fault own = {0};

	if (!is_damage(error))
		return error;
	error = day_damaged(s->ds->day, error, what, s->ds->name, &own);
	if (s->fault)
		*s->fault = own;
	return ask_forgive(s->scan->ask, error, &own);
}

/* All chunks of a block or roll-up; times are not checked in a roll-up, which is inside the
 * range. */
static enum err show_block(struct scanner *s, struct str bytes, bool rollup)
{
	struct block block = {0};
	enum err error = block_open(bytes, s->max_memory, &block);

	for (size_t i = 0; error == ERR_OK && i < block.n; i++)
		if (rollup || in_range(s->scan, &block.chunks[i]))
			error = s->scan->each(s->scan->context, &block.chunks[i]);
	block_release(&block);
	if (error == ERR_NO_MEMORY && s->max_memory < DEFAULT_MEMORY)
		return fault_set(s->fault, ERR_TOO_LARGE,
				 "the query needs more than its limit of %zu bytes", s->max_memory);
	return error;
}

static enum err show_rollup(struct scanner *s, int level, int64_t start_ns, bool *ret_found)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(s->reader, ROLLUP_GET, &q, s->fault, s->ds->id, level,
			  start_ns / 1000000));
	error = db_step(s->reader, q, &row, s->fault);
	if (error == ERR_OK && row) {
		struct str bytes = db_column(q, 0);
		const struct day *d = s->ds->day;

		if (s->scan->ask) {
			s->scan->ask->rollups++;
			s->scan->ask->bytes += bytes.n;
		}
		/* If it is damaged, read the blocks instead. */
		row = day_seal_good(d, s->reader, sqlite3_column_int64(q, 1),
				    seal_rollup(atomic_load(&d->key), s->ds->id, level,
						start_ns / 1000000, bytes));
		if (row)
			error = damaged_part(s, show_block(s, bytes, true), "a roll-up");
	}
	db_reset(q);
	if (error == ERR_OK)
		*ret_found = row;
	return error;
}

/* Whether a roll-up is in the range: the part beyond its end must be completely inside or outside
 * of the range, because its exact times are unknown. */
static bool fits_range(struct scanner *s, int64_t start_ns, int64_t end_ns)
{
	const struct scan *scan = s->scan;
	int64_t after, longest;

	if (scan->from_ns > start_ns || scan->until_ns < end_ns)
		return false;
	after = scan->until_ns - end_ns;
	if (!after || after >= ROLLUP_REACH_NS)
		return true;
	/* No profile of an earlier hour goes that far: such hours have no roll-ups. */
	longest = reach_longest(s->ds, end_ns - NS_PER_HOUR, end_ns);
	return after >= (longest > USUAL_REACH_NS ? longest : USUAL_REACH_NS);
}

/* Whether a remaining fresh chunk begins before a time. */
static bool has_fresh(const struct scanner *s, int64_t until_ns)
{
	return s->shown < s->fresh.v.n && row_time_ns(s->fresh.v.v[s->shown]) < until_ns;
}

/* Uses the roll-up of an hour or day instead of its blocks, if there is one and it may be used. It
 * does not contain fresh chunks. */
static enum err scan_rollup(struct scanner *s, int level, int64_t start_ns, int64_t length_ns,
			    bool *ret_found)
{
	int64_t rollup_ns = s->scan->rollup_ns;

	*ret_found = false;
	/* Those of a file that was not looked through say too little. */
	if (!rollup_ns || rollup_ns % length_ns || !atomic_load(&s->ds->day->measured) ||
	    atomic_load(&s->ds->rollups_differ) || has_fresh(s, start_ns + length_ns) ||
	    !fits_range(s, start_ns, start_ns + length_ns))
		return ERR_OK;
	return show_rollup(s, level, start_ns, ret_found);
}

static enum err show_one_block(struct scanner *s, sqlite3_stmt *q)
{
	const struct scan *scan = s->scan;
	struct str bytes = db_column(q, 6);
	bool may = true;

	if (!block_row_good(s->ds->day, s->reader, q) ||
	    sqlite3_column_int64(q, 1) != atomic_load(&s->ds->id))
		return ERR_DAMAGED;
	if (scan->link_count)
		TRY(block_may_link(bytes, scan->links, scan->link_count, &may));
	if (!may)
		return ERR_OK;
	if (scan->ask) {
		scan->ask->blocks++;
		scan->ask->bytes += bytes.n;
	}
	return show_block(s, bytes, false);
}

/* Passes the blocks that begin in a range. */
static enum err scan_windows(struct scanner *s, int64_t from_ns, int64_t until_ns)
{
	const struct scan *scan = s->scan;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(s->reader, BLOCK_RANGE, &q, s->fault, s->ds->id, row_key(from_ns, 0),
			  row_key(until_ns, 0)));
	while ((error = db_step(s->reader, q, &row, s->fault)) == ERR_OK && row) {
		if (ask_cancelled(scan->ask))
			error = fault_set(s->fault, ERR_CANCELLED, "the query was cancelled");
		else
			error = damaged_part(s, show_one_block(s, q), "a block");
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

/* A block lies in its window, so those that begin a window before the range may reach into it. */
static enum err scan_blocks(struct scanner *s, int64_t hour_ns)
{
	const struct scan *scan = s->scan;
	int64_t end = hour_ns + NS_PER_HOUR;
	int64_t from = s->low_ns > hour_ns ? s->low_ns : hour_ns;
	int64_t until = scan->until_ns < end ? scan->until_ns + 999999 : end;

	TRY(damaged_part(s, service_find_blocks(s->ds, s->reader, s->fault),
			 "the index of blocks"));
	from -= from % WINDOW_NS;
	vec_for_each (window, &s->windows.v)
		if (*window >= hour_ns && *window < end && *window < from)
			TRY(scan_windows(s, *window, *window + WINDOW_NS));
	return from < until ? scan_windows(s, from, until) : ERR_OK;
}

static enum err show_chunk(struct scanner *s, sqlite3_stmt *q)
{
	struct str bytes = db_column(q, 3);
	struct arena arena = {0};
	struct chunk_view v;
	enum err error = chunk_row_open(s->ds->day, s->reader, q, &arena, &v);

	if (s->scan->ask) {
		s->scan->ask->chunks++;
		s->scan->ask->bytes += bytes.n;
	}
	if (error == ERR_OK && in_range(s->scan, &v))
		error = s->scan->each(s->scan->context, &v);
	arena_release(&arena);
	return error;
}

/* Passes the next fresh chunks that begin before a time. */
static enum err scan_fresh(struct scanner *s, int64_t until_ns)
{
	enum err error = ERR_OK;

	for (; error == ERR_OK && has_fresh(s, until_ns); s->shown++) {
		sqlite3_stmt *q;
		bool row;

		if (ask_cancelled(s->scan->ask))
			return fault_set(s->fault, ERR_CANCELLED, "the query was cancelled");
		TRY(db_query_with(s->reader, CHUNK_GET, &q, s->fault, s->fresh.v.v[s->shown]));
		error = db_step(s->reader, q, &row, s->fault);
		/* A missing chunk became part of a block before this transaction began. */
		if (error == ERR_OK && row)
			error = damaged_part(s, show_chunk(s, q), "a chunk");
		db_reset(q);
	}
	return error;
}

/*
 * Passes an hour completely before the next, blocks and fresh chunks together. Coverage depends on
 * the order of profiles (coverage.h), and must not depend on the progress of compaction.
 */
static enum err scan_hour(struct scanner *s, int64_t hour_ns)
{
	int64_t end = hour_ns + NS_PER_HOUR;
	bool found;

	if (end <= s->low_ns && !s->windows.v.n && !has_fresh(s, end))
		return ERR_OK;
	TRY(scan_rollup(s, ROLLUP_HOUR, hour_ns, NS_PER_HOUR, &found));
	if (found)
		return ERR_OK;
	TRY(scan_blocks(s, hour_ns));
	return scan_fresh(s, end);
}

static enum err scan_day(struct scanner *s)
{
	int64_t day_ns = s->ds->day->name.day * NS_PER_DAY;
	bool found;

	TRY(scan_rollup(s, ROLLUP_DAY, day_ns, NS_PER_DAY, &found));
	for (int h = 0; h < 24 && !found; h++)
		TRY(scan_hour(s, day_ns + h * NS_PER_HOUR));
	return scan_fresh(s, INT64_MAX);
}

/* Whether a profile of that time may be in the range. */
static bool may_show(const struct scanner *s, int64_t time_ns)
{
	if (time_ns >= s->scan->until_ns)
		return false;
	/* Keys are milliseconds. */
	if (time_ns + 1000000 > s->low_ns)
		return true;
	vec_for_each (window, &s->windows.v)
		if (time_ns >= *window && time_ns < *window + WINDOW_NS)
			return true;
	return false;
}

static enum err copy_fresh(struct scanner *s)
{
	struct day_service *ds = s->ds;
	enum err error = ERR_OK;

	mutex_lock(&ds->day->lists);
	vec_for_each (chunk, &ds->fresh) {
		if (!may_show(s, row_time_ns(chunk->key)))
			continue;
		error = vec_push(&s->fresh.v, chunk->key);
		if (error != ERR_OK)
			break;
	}
	mutex_unlock(&ds->day->lists);
	if (s->fresh.v.n)
		qsort(s->fresh.v.v, s->fresh.v.n, sizeof(*s->fresh.v.v), compare_row_keys);
	return error;
}

enum err embedded_scan(void *engine, struct partition *p, const struct scan *scan)
{
	struct scanner s = {.ds = p->engine, .scan = scan, .max_memory = DEFAULT_MEMORY};
	enum err error;

	(void)engine;
	if (scan->ask) {
		s.fault = scan->ask->fault;
		if (scan->ask->max_memory)
			s.max_memory = scan->ask->max_memory;
	}
	/* Before the lists of chunks: what becomes known later comes later. */
	error = reach_windows(s.ds, scan->since_ns, scan->from_ns, &s.low_ns, &s.windows);
	if (error == ERR_OK)
		error = copy_fresh(&s);
	if (error == ERR_OK)
		error = day_reader(s.ds->day, &s.reader, s.fault);
	if (error == ERR_OK)
		error = db_begin(s.reader, false, s.fault);
	if (error == ERR_OK)
		error = scan_day(&s);
	day_reader_back(s.ds->day, s.reader, error);
	vec_release(&s.fresh.v);
	vec_release(&s.windows.v);
	return error;
}
