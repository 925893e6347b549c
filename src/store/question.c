#include "store/question.h"

#include "base/hash.h"

#define DEFAULT_MEMORY ((size_t)256 << 20)

void question_init(struct question *q, const struct source *source, struct str tenant,
		   const struct selection *selection, struct ask *ask)
{
	*q = (struct question){.source = source, .tenant = tenant, .selection = selection};
	q->ask = ask ? ask : &q->own_ask;
	q->type = selection->type;
}

void question_release(struct question *q)
{
	choice_release(&q->choice);
	stand_in_release(&q->stand_in);
	arena_release(&q->arena);
}

enum err question_take(struct question *q, size_t bytes)
{
	size_t most = q->ask->max_memory ? q->ask->max_memory : DEFAULT_MEMORY;

	if (bytes > most || q->memory > most - bytes)
		return fault_set(q->ask->fault, ERR_TOO_LARGE,
				 "the answer takes more than %zu MiB: choose a shorter time or "
				 "fewer labels",
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

/* A question that needs a type needs one: values of different types do not add up. */
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

static enum err each_chunk(void *context, const struct chunk_view *v)
{
	struct question *q = context;
	const struct selection *s = q->selection;
	bool rollup = v->head.series == SERIES_MANY || v->head.profiles != 1;

	if (ask_cancelled(q->ask))
		return ERR_CANCELLED;
	/* The engine vouches for roll-ups: they lie wholly in the range. */
	if (!rollup && (v->head.time_ns < s->from_ns || v->head.time_ns >= s->until_ns))
		return ERR_OK;
	if (v->head.series != SERIES_MANY && !choice_has_series(&q->choice, v->head.series))
		return ERR_OK;
	if (!takes_profile(q, v))
		return ERR_OK;
	for (uint32_t i = 0; i < v->head.column_count; i++) {
		if (!choice_has_type(&q->choice, v->head.columns[i].type) ||
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

static enum err scan_partition(struct question *q)
{
	struct scan scan = {
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

	if (!q->choice.matching_series || !q->choice.matching_types)
		return ERR_OK;
	TRY(stand_in_read(&q->stand_in, q));
	if (q->handler->begin)
		TRY(q->handler->begin(q));
	if (q->choice.all_series && !q->selection->link_count && !q->selection->profile_count &&
	    !q->selection->time_count && !q->stand_in.any)
		scan.rollup_ns = q->rollup_ns;
	TRY(q->source->scan(q->source->engine, q->partition, &scan));
	return q->handler->end ? q->handler->end(q) : ERR_OK;
}

static enum err each_partition(void *context, struct partition *p)
{
	struct question *q = context;
	enum err e;

	if (ask_cancelled(q->ask))
		return ERR_CANCELLED;
	q->partition = p;
	mutex_lock(&p->lock);
	q->stack_count = (uint32_t)p->dict.stacks.entries.n;
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
	return q->source->partitions(q->source->engine, q->tenant, q->selection, q->ask,
				     each_partition, q);
}

bool question_takes_all(const struct question *q, const struct chunk_view *v)
{
	return !q->selection->link_count && !q->selection->time_count &&
	       (v->head.series == SERIES_MANY || !q->choice.open[v->head.series]);
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

static bool takes_time(const struct selection *s, int64_t time_ns)
{
	size_t low = 0, high = s->time_count;

	/* The first that ends behind it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->times[middle].until_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->time_count && s->times[low].from_ns <= time_ns;
}

/* Leaves the rows of the times that are asked for, at the beginning of their group. */
static void keep_times(const struct question *q, const struct chunk_view *v,
		       struct chunk_rows_read *r)
{
	for (uint32_t g = 0; g < r->group_count; g++) {
		struct chunk_group *group = &r->groups[g];
		uint32_t to = group->first;

		for (uint32_t i = group->first; i < group->first + group->n; i++) {
			if (!takes_time(q->selection, r->times[i] ? r->times[i] : v->head.time_ns))
				continue;
			r->stacks[to] = r->stacks[i];
			r->values[to] = r->values[i];
			r->times[to++] = r->times[i];
		}
		group->n = to - group->first;
	}
}

static enum err read_rows(struct question *q, const struct chunk_view *v,
			  const struct chunk_column *column, struct chunk_rows_read *r)
{
	size_t rows = (size_t)v->head.rows + 1;
	uint32_t n, kept = 0;

	r->stacks = arena_alloc(&r->arena, rows * sizeof(*r->stacks));
	r->values = arena_alloc(&r->arena, rows * sizeof(*r->values));
	r->times = arena_alloc(&r->arena, rows * sizeof(*r->times));
	if (!r->stacks || !r->values || !r->times)
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
	TRY(chunk_values(v, column, r->values));
	TRY(chunk_times(v, r->times));
	if (q->selection->time_count)
		keep_times(q, v, r);
	return ERR_OK;
}

enum err question_rows(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret)
{
	enum err e;

	*ret = (struct chunk_rows_read){0};
	e = read_rows(q, v, column, ret);
	if (e)
		chunk_rows_release(ret);
	return e;
}

void chunk_rows_release(struct chunk_rows_read *r)
{
	arena_release(&r->arena);
}
