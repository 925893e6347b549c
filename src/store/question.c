#include "store/question.h"

#include "base/hash.h"

#define DEFAULT_MEMORY ((size_t)256 << 20)

void question_init(struct question *q, const struct source *source, struct str tenant,
		   const struct selection *selection, struct ask *ask)
{
	*q = (struct question){.source = source, .tenant = tenant, .selection = selection};
	q->ask = ask ? ask : &q->own_ask;
	q->type = selection->type;
	q->beside = UINT32_MAX;
}

void question_release(struct question *q)
{
	choice_release(&q->choice);
	stand_in_release(&q->stand_in);
	arena_release(&q->arena);
}

bool question_may_be_gauge(const struct question *q)
{
	struct str id = q->selection->type, name, type, unit;

	if (!str_split(&id, ':', &name) || !str_split(&id, ':', &type) ||
	    !str_split(&id, ':', &unit))
		return true;
	return type_is_gauge(type, unit);
}

enum err question_take(struct question *q, size_t bytes)
{
	size_t most = q->ask->max_memory ? q->ask->max_memory : DEFAULT_MEMORY;

	if (bytes > most || q->memory > most - bytes)
		return fault_set(
			q->ask->fault, ERR_TOO_LARGE,
			"the result takes more than %zu MiB: use a shorter range or fewer labels",
			most >> 20);
	q->memory += bytes;
	return ERR_OK;
}

enum err question_array(struct question *q, size_t count, size_t size, void *ret)
{
	void *array;

	if (count > SIZE_MAX / 64 / size)
		return ERR_TOO_LARGE;
	TRY(question_take(q, count * size));
	array = mem_zalloc(count ? count : 1, size);
	if (!array)
		return ERR_NO_MEMORY;
	memcpy(ret, &array, sizeof(array));
	return ERR_OK;
}

struct str arena_str(struct arena *a, struct str s)
{
	char *copy = arena_copy(a, s);

	return copy ? str_n(copy, s.n) : (struct str){0};
}

enum err question_stacks(struct question *q, const struct chunk_view *v)
{
	if (v->head.stack_limit <= q->stack_count)
		return ERR_OK;
	mutex_lock(&q->partition->lock);
	q->stack_count = (uint32_t)q->partition->dict.stacks.entries.n;
	mutex_unlock(&q->partition->lock);
	return v->head.stack_limit <= q->stack_count ? ERR_OK : ERR_CORRUPT;
}

/* Such a query needs exactly one type, because values of different types cannot be added. */
static enum err settle_type(struct question *q)
{
	for (uint32_t t = 0; !q->each_type && t < q->choice.type_count; t++) {
		const struct type_entry *type = &q->partition->types.v[t];
		struct str id = type_shown(type->id);

		if (!choice_has_type(&q->choice, t))
			continue;
		if (q->type.n && !str_eq(q->type, id))
			return fault_set(q->ask->fault, ERR_BAD_ARGUMENT,
					 "the selector means more than one profile type, among "
					 "them %.*s and %.*s: name one",
					 (int)q->type.n, q->type.p, (int)id.n, id.p);
		q->gauge = type->gauge;
		if (q->type.n)
			continue;
		q->type = arena_str(&q->arena, id);
		if (!q->type.p)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

/* A profile is known by its series and its time: the same in every engine. */
uint64_t question_profile(const struct question *q, const struct chunk_view *v)
{
	struct partition *p = q->partition;
	uint64_t hash;

	mutex_lock(&p->lock);
	hash = p->series.v[v->head.series].hash;
	mutex_unlock(&p->lock);
	return hash_mix(hash, (uint64_t)v->head.time_ns ^ hash);
}

static bool takes_profile(const struct question *q, const struct chunk_view *v)
{
	const struct selection *s = q->selection;
	uint64_t id;

	if (!s->profile_count)
		return true;
	if (v->head.series == SERIES_MANY)
		return false;
	id = question_profile(q, v);
	for (size_t i = 0; i < s->profile_count; i++)
		if (s->profiles[i] == id)
			return true;
	return false;
}

/* A value of a gauge is of the moment in which the profile starts. */
static bool takes_column(const struct question *q, const struct chunk_view *v,
			 const struct chunk_column *column)
{
	const struct selection *s = q->selection;

	if (!choice_has_type(&q->choice, column->type))
		return false;
	/* The engine vouches for roll-ups. */
	if (v->head.flags & CHUNK_ROLLUP)
		return true;
	if (choice_is_gauge(&q->choice, column->type))
		return v->head.time_ns < s->until_ns &&
		       v->head.time_ns >= add_saturating(s->from_ns, -q->lookback_ns);
	return profile_touches(&v->head, s->from_ns, s->until_ns);
}

/* Roll-ups are of one type each. */
static void look_beside(struct question *q, const struct chunk_view *v)
{
	if (q->handler->beside && v->head.flags & CHUNK_SUM && v->head.column_count == 1 &&
	    v->head.columns[0].type == q->beside)
		q->handler->beside(q, &v->head.columns[0]);
}

static enum err each_chunk(void *context, const struct chunk_view *v)
{
	struct question *q = context;

	if (ask_cancelled(q->ask))
		return ERR_CANCELLED;
	if (v->head.series != SERIES_MANY && !choice_has_series(&q->choice, v->head.series))
		return ERR_OK;
	if (!takes_profile(q, v))
		return ERR_OK;
	look_beside(q, v);
	for (uint32_t i = 0; i < v->head.column_count; i++) {
		if (!takes_column(q, v, &v->head.columns[i]) ||
		    stand_in_yields(&q->stand_in, &v->head, v->head.columns[i].type))
			continue;
		q->ask->rows += v->head.rows;
		TRY(question_stacks(q, v));
		TRY(q->handler->chunk(q, v, &v->head.columns[i]));
		if (!q->each_type)
			break;
	}
	return ERR_OK;
}

/* Whether sums, or gauges, are requested. */
static bool has_kind(const struct question *q, bool gauges)
{
	for (uint32_t t = 0; t < q->choice.type_count; t++)
		if (choice_has_type(&q->choice, t) && choice_is_gauge(&q->choice, t) == gauges)
			return true;
	return false;
}

/* Only gauges are read from before the range. */
static enum err scan_kinds(struct question *q, bool gauges, int64_t rollup_ns)
{
	struct scan scan = {
		.since_ns = add_saturating(q->selection->from_ns, gauges ? -q->lookback_ns : 0),
		.from_ns = q->selection->from_ns,
		.until_ns = q->selection->until_ns,
		.series = q->choice.all_series ? NULL : q->choice.series,
		.series_count = q->choice.series_count,
		.types = q->choice.types,
		.type_count = q->choice.type_count,
		.links = q->selection->links,
		.link_count = q->selection->link_count,
		.ask = q->ask,
		.each = each_chunk,
		.context = q,
	};

	if (q->choice.all_series && !q->selection->link_count && !q->selection->profile_count &&
	    !q->selection->time_count && !q->stand_in.any)
		scan.rollup_ns = rollup_ns;
	return q->source->scan(q->source->engine, q->partition, &scan);
}

/* Scans sums and gauges separately, if they use roll-ups of different lengths. */
static enum err scan_apart(struct question *q)
{
	const uint64_t *gauges = q->choice.gauges;
	uint64_t *types = q->choice.types;
	size_t n = q->choice.type_count / 64 + 1;
	uint64_t *kept = arena_alloc(&q->choice.arena, n * sizeof(*kept));
	enum err e;

	if (!kept)
		return ERR_NO_MEMORY;
	memcpy(kept, types, n * sizeof(*kept));
	for (size_t i = 0; i < n; i++)
		types[i] = kept[i] & ~gauges[i];
	e = scan_kinds(q, false, q->rollup_ns);
	for (size_t i = 0; i < n; i++)
		types[i] = kept[i] & gauges[i];
	if (!e)
		e = scan_kinds(q, true, q->gauge_rollup_ns);
	memcpy(types, kept, n * sizeof(*kept));
	return e;
}

static enum err scan_partition(struct question *q)
{
	bool sums, gauges;

	if (!q->choice.matching_series || !q->choice.matching_types)
		return ERR_OK;
	TRY(stand_in_read(&q->stand_in, q));
	if (q->handler->begin)
		TRY(q->handler->begin(q));
	sums = has_kind(q, false);
	gauges = has_kind(q, true);
	if (sums && gauges && q->rollup_ns != q->gauge_rollup_ns)
		TRY(scan_apart(q));
	else
		TRY(scan_kinds(q, gauges, gauges ? q->gauge_rollup_ns : q->rollup_ns));
	return q->handler->end ? q->handler->end(q) : ERR_OK;
}

enum err question_partition(void *context, struct partition *p)
{
	struct question *q = context;
	enum err e;

	if (ask_cancelled(q->ask))
		return ERR_CANCELLED;
	q->partition = p;
	mutex_lock(&p->lock);
	q->stack_count = p->light ? UINT32_MAX : (uint32_t)p->dict.stacks.entries.n;
	e = choice_init(&q->choice, p, q->selection);
	if (!e)
		e = settle_type(q);
	if (!e)
		e = stand_in_begin(&q->stand_in, q);
	mutex_unlock(&p->lock);
	if (!e)
		e = scan_partition(q);
	choice_release(&q->choice);
	stand_in_release(&q->stand_in);
	return e;
}

enum err question_run(struct question *q, const struct question_handler *handler)
{
	q->handler = handler;
	return q->source->partitions(q->source->engine, q->tenant, q->selection,
				     add_saturating(q->selection->from_ns, -q->lookback_ns), q->ask,
				     question_partition, q);
}

bool question_takes_rows(const struct question *q, const struct chunk_view *v)
{
	return !q->selection->link_count && !q->selection->time_count &&
	       (v->head.series == SERIES_MANY || !q->choice.open[v->head.series]);
}

bool question_is_whole(const struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column)
{
	return v->head.flags & CHUNK_ROLLUP || choice_is_gauge(&q->choice, column->type);
}

bool question_takes_all(const struct question *q, const struct chunk_view *v,
			const struct chunk_column *column)
{
	return question_takes_rows(q, v) &&
	       (question_is_whole(q, v, column) ||
		profile_within(&v->head, q->selection->from_ns, q->selection->until_ns));
}

static bool link_matches(const struct link *wanted, const struct link *l)
{
	static const struct link none;

	if (memcmp(wanted->trace_id, none.trace_id, 16) &&
	    memcmp(wanted->trace_id, l->trace_id, 16))
		return false;
	return !memcmp(wanted->span_id, none.span_id, 8) || !memcmp(wanted->span_id, l->span_id, 8);
}

static bool takes_link(const struct selection *s, struct str links, uint32_t link)
{
	struct link l;

	if (!s->link_count)
		return true;
	if (!link)
		return false;
	memcpy(&l, links.p + (link - 1) * sizeof(l), sizeof(l));
	for (size_t i = 0; i < s->link_count; i++)
		if (link_matches(&s->links[i], &l))
			return true;
	return false;
}

/* The first of the requested times that ends after a given time. */
static size_t first_time(const struct selection *s, int64_t time_ns)
{
	size_t low = 0, high = s->time_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->times[middle].until_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool takes_time(const struct selection *s, int64_t time_ns)
{
	size_t i = first_time(s, time_ns);

	return i < s->time_count && s->times[i].from_ns <= time_ns;
}

/* Adds what lies in [from, until). */
static void add_part(struct chunk_rows_read *r, int64_t from_ns, int64_t until_ns)
{
	int64_t *spare = r->before;

	if (from_ns >= until_ns)
		return;
	if (r->after_ns != from_ns)
		row_cut_before(&r->cut, from_ns, r->after);
	r->before = r->after;
	r->after = spare;
	row_cut_before(&r->cut, until_ns, r->after);
	r->after_ns = until_ns;
	for (uint32_t i = 0; i < r->cut.n; i++)
		r->values[i] += r->after[i] - r->before[i];
}

static void keep_whole(const struct question *q, struct chunk_rows_read *r)
{
	for (uint32_t i = 0; i < r->cut.n; i++) {
		int64_t time = r->times[i] ? r->times[i] : r->cut.start_ns;

		r->values[i] = q->selection->time_count && !takes_time(q->selection, time)
				       ? 0
				       : r->stored[i];
	}
}

enum err question_rows_between(const struct question *q, struct chunk_rows_read *r, int64_t from_ns,
			       int64_t until_ns)
{
	const struct selection *s = q->selection;

	if (!r->group_count)
		return ERR_OK;
	if (r->whole) {
		keep_whole(q, r);
		return ERR_OK;
	}
	if (!s->time_count && from_ns <= r->cut.start_ns && until_ns > r->cut.start_ns &&
	    until_ns >= r->cut.end_ns) {
		memcpy(r->values, r->stored, r->cut.n * sizeof(*r->values));
		return ERR_OK;
	}
	memset(r->values, 0, r->cut.n * sizeof(*r->values));
	if (!s->time_count)
		add_part(r, from_ns, until_ns);
	for (size_t i = first_time(s, from_ns); i < s->time_count; i++) {
		const struct time_span *t = &s->times[i];

		if (t->from_ns >= until_ns || t->from_ns >= r->cut.end_ns + 1)
			break;
		/* Each split reads all rows, and there may be many of both. */
		if (ask_cancelled(q->ask))
			return ERR_CANCELLED;
		add_part(r, t->from_ns > from_ns ? t->from_ns : from_ns,
			 t->until_ns < until_ns ? t->until_ns : until_ns);
	}
	return ask_cancelled(q->ask) ? ERR_CANCELLED : ERR_OK;
}

static enum err read_rows(struct question *q, const struct chunk_view *v,
			  const struct chunk_column *column, struct chunk_rows_read *r)
{
	size_t rows = (size_t)v->head.rows + 1;
	uint32_t n, kept = 0;
	int64_t *stored = arena_alloc(&r->arena, rows * sizeof(*stored));

	r->whole = question_is_whole(q, v, column);
	r->stored = stored;
	r->stacks = arena_alloc(&r->arena, rows * sizeof(*r->stacks));
	r->values = arena_alloc(&r->arena, rows * sizeof(*r->values));
	r->times = arena_alloc(&r->arena, rows * sizeof(*r->times));
	r->before = arena_alloc(&r->arena, rows * sizeof(*r->before));
	r->after = arena_zalloc(&r->arena, rows, sizeof(*r->after));
	if (!stored || !r->stacks || !r->values || !r->times || !r->before || !r->after)
		return ERR_NO_MEMORY;
	TRY(chunk_groups(v, &r->arena, &r->groups, &n));
	TRY(chunk_links(v, &r->links));
	for (uint32_t i = 0; i < n; i++) {
		bool takes = takes_link(q->selection, r->links, r->groups[i].link);

		if (takes)
			TRY(choice_takes_labels(&q->choice, q->partition, v->head.series,
						r->groups[i].labels, &takes));
		if (takes)
			r->groups[kept++] = r->groups[i];
	}
	r->group_count = kept;
	if (!kept)
		return ERR_OK;
	TRY(chunk_stacks(v, q->stack_count, r->stacks));
	TRY(chunk_values(v, column, stored));
	TRY(chunk_times(v, r->times));
	row_cut_init(&r->cut, &v->head, stored, r->times);
	r->after_ns = INT64_MIN;
	return ERR_OK;
}

enum err question_read(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret)
{
	enum err e;

	*ret = (struct chunk_rows_read){0};
	e = read_rows(q, v, column, ret);
	if (e)
		chunk_rows_release(ret);
	return e;
}

enum err question_rows(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret)
{
	enum err e;

	TRY(question_read(q, v, column, ret));
	e = question_rows_between(q, ret, q->selection->from_ns, q->selection->until_ns);
	if (e)
		chunk_rows_release(ret);
	return e;
}

void chunk_rows_release(struct chunk_rows_read *r)
{
	arena_release(&r->arena);
}
