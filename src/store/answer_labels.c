/*
 * Lists labels, values, types and series, from the tables of partitions: labels of rows count for
 * the whole service and day.
 */
#include <stdlib.h>

#include "store/label_listing.h"
#include "store/question.h"
#include "store/text_order.h"

void listing_release(struct listing *l)
{
	arena_release(&l->arena);
	vec_release(&l->texts);
	vec_release(&l->sets);
	map_release(&l->index);
	map_release(&l->text_index);
}

enum err listing_add_text(struct listing *l, struct str text)
{
	uint64_t hash = hash_str(text, l->source->seed);
	struct str copy;

	MAP_PROBE(&l->index, hash, id)
	{
		if (str_eq(l->texts.v[id], text))
			return ERR_OK;
	}
	copy = arena_str(&l->arena, text);
	if (!copy.p)
		return ERR_NO_MEMORY;
	TRY(vec_push(&l->texts, copy));
	return map_put(&l->index, hash, (uint32_t)l->texts.n - 1);
}

/* Of the first day they are copied in one piece. */
static enum err copy_sorted(struct listing *l, const struct str *texts, size_t n)
{
	size_t bytes = 0;
	char *room;

	for (size_t i = 0; i < n; i++)
		bytes += texts[i].n + 1;
	room = arena_alloc(&l->arena, bytes + 1);
	if (!room)
		return ERR_NO_MEMORY;
	TRY(vec_reserve(&l->texts, n));
	for (size_t i = 0; i < n; i++) {
		memcpy(room, texts[i].p, texts[i].n);
		room[texts[i].n] = 0;
		l->texts.v[l->texts.n++] = str_n(room, texts[i].n);
		room += texts[i].n + 1;
	}
	return ERR_OK;
}

/* What both have is there once. */
static enum err merge_sorted(struct listing *l, const struct str *texts, size_t n)
{
	size_t most = l->limit ? l->limit + 1 : SIZE_MAX, old = l->texts.n, i = 0, k = 0;
	CLEANUP(mem_free_ptr) struct str *both = NULL;
	size_t count = 0;

	both = mem_zalloc(old + n + 1, sizeof(*both));
	if (!both)
		return ERR_NO_MEMORY;
	while (count < most && (i < old || k < n)) {
		int order = i == old ? 1 : k == n ? -1 : str_cmp(l->texts.v[i], texts[k]);

		if (order <= 0) {
			both[count++] = l->texts.v[i++];
			k += order == 0;
			continue;
		}
		both[count] = arena_str(&l->arena, texts[k++]);
		if (!both[count++].p)
			return ERR_NO_MEMORY;
	}
	l->texts.n = 0;
	return vec_append(&l->texts, both, count);
}

enum err listing_add_sorted(struct listing *l, const struct str *texts, size_t n)
{
	l->sorted = true;
	return l->texts.n ? merge_sorted(l, texts, n) : copy_sorted(l, texts, n);
}

static bool in_range(const struct listing *l, const struct series_entry *s)
{
	/* Begun, and nothing is stored yet. */
	if (!s->first_ns && !s->last_ns)
		return true;
	return s->last_ns >= l->selection->from_ns && s->first_ns < l->selection->until_ns;
}

/* Whether the series has a type that is selected. */
static bool has_type(const struct listing *l, const struct partition *p, uint32_t series)
{
	if (l->choice->matching_types == l->choice->type_count)
		return true;
	for (uint32_t t = 0; t < l->choice->type_count; t++)
		if (choice_has_type(l->choice, t) && partition_has_pair(p, series, t))
			return true;
	return false;
}

static enum err list_partition(struct listing *l, const struct partition *p)
{
	bool any = false;

	for (uint32_t s = 0; s < l->choice->series_count; s++) {
		if (!choice_has_series(l->choice, s) || !in_range(l, &p->series.v[s]) ||
		    !has_type(l, p, s))
			continue;
		TRY(l->series(l, p, s));
		any = true;
	}
	for (size_t i = 1; any && l->label && i < p->dict.labels.n; i++)
		TRY(l->label(l, &p->dict, &p->dict.labels.v[i]));
	return ERR_OK;
}

static enum err each_partition(void *context, struct partition *p)
{
	struct listing *l = context;
	struct choice choice;
	enum err e;

	if (ask_cancelled(l->ask))
		return ERR_CANCELLED;
	mutex_lock(&p->lock);
	e = choice_init(&choice, p, l->selection);
	if (!e) {
		l->choice = &choice;
		e = list_partition(l, p);
		choice_release(&choice);
	}
	mutex_unlock(&p->lock);
	return e;
}

static enum err run(struct listing *l, struct str tenant)
{
	if (l->source->indexes)
		return l->source->indexes(l->source->engine, tenant, l->selection, l->ask,
					  listing_index, l);
	/* Profiles that extend into the range count, too, so that every value has its type
	 * listed. */
	return l->source->partitions(l->source->engine, tenant, l->selection, l->selection->from_ns,
				     l->ask, each_partition, l);
}

static struct str listed_text(const void *texts, uint32_t id)
{
	return ((const struct str *)texts)[id];
}

static enum err sort_texts(struct str *texts, size_t n)
{
	const struct text_source from = {texts, listed_text, NULL};
	CLEANUP(mem_free_ptr) uint32_t *ids = mem_zalloc(n + 1, sizeof(*ids));
	CLEANUP(mem_free_ptr) struct str *sorted = mem_zalloc(n + 1, sizeof(*sorted));

	if (!ids || !sorted)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		ids[i] = (uint32_t)i;
	TRY(text_order(&from, ids, n));
	for (size_t i = 0; i < n; i++)
		sorted[i] = texts[ids[i]];
	if (n)
		memcpy(texts, sorted, n * sizeof(*texts));
	return ERR_OK;
}

static enum err finish_texts(struct listing *l, size_t limit, struct text_answer *ret)
{
	struct text_answer answer = {.n = l->texts.n};

	if (!l->sorted)
		TRY(sort_texts(l->texts.v, l->texts.n));
	if (limit && answer.n > limit) {
		answer.n = limit;
		answer.more = true;
	}
	answer.v = arena_alloc(&l->arena, (answer.n + 1) * sizeof(*answer.v));
	if (!answer.v)
		return ERR_NO_MEMORY;
	if (answer.n)
		memcpy(answer.v, l->texts.v, answer.n * sizeof(*answer.v));
	answer.arena = l->arena;
	l->arena = (struct arena){0};
	*ret = answer;
	return ERR_OK;
}

static enum err names_of_series(struct listing *l, const struct partition *p, uint32_t series)
{
	for (uint32_t i = 0; i < p->series.v[series].n; i++)
		TRY(listing_add_text(l, p->series.v[series].labels[i].name));
	return ERR_OK;
}

static enum err name_of_label(struct listing *l, const struct dict *d, const struct label *label)
{
	return listing_add_text(l, dict_str(d, label->key));
}

enum err answer_label_names(const struct source *source, struct str tenant,
			    const struct selection *selection, struct ask *ask,
			    struct text_answer *ret)
{
	CLEANUP(listing_release)
	struct listing l = {
		.source = source,
		.selection = selection,
		.ask = ask,
		.kind = LIST_NAMES,
		.series = names_of_series,
		.label = name_of_label,
	};

	TRY(run(&l, tenant));
	return finish_texts(&l, 0, ret);
}

static enum err types_of_series(struct listing *l, const struct partition *p, uint32_t series)
{
	for (uint32_t t = 0; t < l->choice->type_count; t++)
		if (choice_has_type(l->choice, t) && partition_has_pair(p, series, t))
			TRY(listing_add_text(l, type_shown(p->types.v[t].id)));
	return ERR_OK;
}

/* The values of a label that is part of the type. */
static enum err parts_of_series(struct listing *l, const struct partition *p, uint32_t series)
{
	struct str part;

	for (uint32_t t = 0; t < l->choice->type_count; t++)
		if (choice_has_type(l->choice, t) && partition_has_pair(p, series, t) &&
		    type_label(l->name, type_shown(p->types.v[t].id), &part))
			TRY(listing_add_text(l, part));
	return ERR_OK;
}

static enum err values_of_series(struct listing *l, const struct partition *p, uint32_t series)
{
	for (uint32_t i = 0; i < p->series.v[series].n; i++)
		if (str_eq(p->series.v[series].labels[i].name, l->name))
			TRY(listing_add_text(l, p->series.v[series].labels[i].value));
	return ERR_OK;
}

static enum err value_of_label(struct listing *l, const struct dict *d, const struct label *label)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	if (!str_eq(dict_str(d, label->key), l->name))
		return ERR_OK;
	label_value(d, label, &text);
	TRY(buf_error(&text));
	return listing_add_text(l, buf_view(&text));
}

/* Whether it lists the services of all times, which needs no dictionaries. */
static bool asks_services(const struct source *source, struct str name,
			  const struct selection *selection)
{
	if (!source->services || !str_eq(name, STR("service_name")) || selection->type.n ||
	    selection->from_ns > 0 || selection->until_ns != INT64_MAX)
		return false;
	for (size_t i = 0; i < selection->matcher_count; i++)
		if (!str_eq(selection->matchers[i].name, STR("service_name")))
			return false;
	return true;
}

static enum err add_service(void *context, struct str name)
{
	return listing_add_text(context, name);
}

enum err answer_label_values(const struct source *source, struct str tenant, struct str name,
			     const struct selection *selection, size_t limit, struct ask *ask,
			     struct text_answer *ret)
{
	CLEANUP(listing_release)
	struct listing l = {
		.source = source,
		.selection = selection,
		.ask = ask,
		.kind = LIST_VALUES,
		.limit = limit,
		.name = name,
		.series = values_of_series,
		.label = value_of_label,
	};
	struct str ignored;

	if (type_label(name, STR(""), &ignored)) {
		l.kind = LIST_PARTS;
		l.series = parts_of_series;
		l.label = NULL;
	}
	if (asks_services(source, name, selection))
		TRY(source->services(source->engine, tenant, selection, ask, add_service, &l));
	else
		TRY(run(&l, tenant));
	return finish_texts(&l, limit, ret);
}

enum err answer_types(const struct source *source, struct str tenant,
		      const struct selection *selection, struct ask *ask, struct text_answer *ret)
{
	CLEANUP(listing_release)
	struct listing l = {
		.source = source,
		.selection = selection,
		.ask = ask,
		.kind = LIST_TYPES,
		.series = types_of_series,
	};

	TRY(run(&l, tenant));
	return finish_texts(&l, 0, ret);
}

/* ------------------------------------------------------------------ label sets */

static bool sets_equal(const struct label_group *a, const struct label_group *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_eq(a->labels[i].name, b->labels[i].name) ||
		    !str_eq(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}

/* Many sets have the same names and values. */
static enum err keep_text(struct listing *l, struct str text, struct str *ret)
{
	uint64_t hash = hash_str(text, l->source->seed);

	MAP_PROBE(&l->text_index, hash, id)
	{
		*ret = l->texts.v[id];
		if (str_eq(*ret, text))
			return ERR_OK;
	}
	*ret = arena_str(&l->arena, text);
	if (!ret->p)
		return ERR_NO_MEMORY;
	TRY(vec_push(&l->texts, *ret));
	return map_put(&l->text_index, hash, (uint32_t)l->texts.n - 1);
}

enum err listing_add_set(struct listing *l, const struct label_group *set)
{
	uint64_t hash = series_hash(set->labels, set->n, l->source->seed);
	struct label_group copy = {.n = set->n};

	MAP_PROBE(&l->index, hash, id)
	{
		if (sets_equal(&l->sets.v[id], set))
			return ERR_OK;
	}
	copy.labels = arena_zalloc(&l->arena, set->n + 1, sizeof(*copy.labels));
	if (!copy.labels)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < set->n; i++) {
		TRY(keep_text(l, set->labels[i].name, &copy.labels[i].name));
		TRY(keep_text(l, set->labels[i].value, &copy.labels[i].value));
	}
	TRY(vec_push(&l->sets, copy));
	return map_put(&l->index, hash, (uint32_t)l->sets.n - 1);
}

/* The labels that are wanted, but for those that are parts of the type. */
static size_t reduce_series(const struct listing *l, const struct series_entry *s,
			    struct label_pair *labels)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		bool wanted = !l->name_count;

		for (size_t k = 0; !wanted && k < l->name_count; k++)
			wanted = str_eq(l->names[k], s->labels[i].name);
		if (wanted)
			labels[n++] = s->labels[i];
	}
	return n;
}

/* Those of the wanted labels that are parts of a type, in order of their names. */
size_t listing_type_parts(const struct listing *l, struct str id, struct label_pair *labels)
{
	static const struct str names[] = {STR("__name__"),	   STR("__period_type__"),
					   STR("__period_unit__"), STR("__profile_type__"),
					   STR("__type__"),	   STR("__unit__")};
	size_t n = 0;

	for (size_t i = 0; i < TYPE_LABELS; i++)
		for (size_t k = 0; k < l->name_count; k++)
			if (str_eq(l->names[k], names[i]) &&
			    type_label(names[i], id, &labels[n].value)) {
				labels[n++].name = names[i];
				break;
			}
	return n;
}

/* `labels` has room for the series' and TYPE_LABELS more, which come first. */
static enum err add_series_sets(struct listing *l, const struct partition *p, uint32_t series,
				struct label_pair *labels)
{
	struct label_pair parts[TYPE_LABELS];
	size_t n = listing_type_parts(l, STR(""), parts);
	struct label_group set = {.labels = labels + TYPE_LABELS - n};

	set.n = n + reduce_series(l, &p->series.v[series], labels + TYPE_LABELS);
	if (!n)
		return listing_add_set(l, &set);
	for (uint32_t t = 0; t < l->choice->type_count; t++) {
		if (!choice_has_type(l->choice, t) || !partition_has_pair(p, series, t))
			continue;
		listing_type_parts(l, type_shown(p->types.v[t].id), set.labels);
		TRY(listing_add_set(l, &set));
	}
	return ERR_OK;
}

static enum err sets_of_series(struct listing *l, const struct partition *p, uint32_t series)
{
	CLEANUP(mem_free_ptr)
	struct label_pair *labels =
		mem_zalloc((size_t)p->series.v[series].n + TYPE_LABELS, sizeof(*labels));

	return labels ? add_series_sets(l, p, series, labels) : ERR_NO_MEMORY;
}

static int compare_sets(const void *left, const void *right)
{
	const struct label_group *a = left, *b = right;

	for (size_t i = 0; i < a->n && i < b->n; i++) {
		int order = str_cmp(a->labels[i].name, b->labels[i].name);

		if (!order)
			order = str_cmp(a->labels[i].value, b->labels[i].value);
		if (order)
			return order;
	}
	return (a->n > b->n) - (a->n < b->n);
}

enum err answer_label_sets(const struct source *source, struct str tenant,
			   const struct selection *selection, const struct str *names,
			   size_t name_count, struct ask *ask, struct label_set_answer *ret)
{
	CLEANUP(listing_release)
	struct listing l = {
		.source = source,
		.selection = selection,
		.ask = ask,
		.names = names,
		.name_count = name_count,
		.kind = LIST_SETS,
		.series = sets_of_series,
	};
	struct label_set_answer answer = {0};

	TRY(run(&l, tenant));
	answer.n = l.sets.n;
	answer.v = arena_alloc(&l.arena, (answer.n + 1) * sizeof(*answer.v));
	if (!answer.v)
		return ERR_NO_MEMORY;
	if (answer.n) {
		qsort(l.sets.v, l.sets.n, sizeof(*l.sets.v), compare_sets);
		memcpy(answer.v, l.sets.v, answer.n * sizeof(*answer.v));
	}
	answer.arena = l.arena;
	l.arena = (struct arena){0};
	*ret = answer;
	return ERR_OK;
}
