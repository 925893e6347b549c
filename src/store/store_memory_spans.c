/*
 * The engine in memory: spans of traces and settings.
 */
#include <stdlib.h>

#include "store/question.h"
#include "store/store_memory.h"

/* ------------------------------------------------------------------ spans */

static enum err copy_span(struct arena *a, const struct trace_span *from, struct trace_span *ret)
{
	struct label_pair *attributes =
		arena_zalloc(a, from->attribute_count + 1, sizeof(*attributes));

	if (!attributes)
		return ERR_NO_MEMORY;
	*ret = *from;
	ret->service = arena_str(a, from->service);
	ret->operation = arena_str(a, from->operation);
	for (size_t i = 0; i < from->attribute_count; i++) {
		attributes[i].name = arena_str(a, from->attributes[i].name);
		attributes[i].value = arena_str(a, from->attributes[i].value);
		if (!attributes[i].name.p || !attributes[i].value.p)
			return ERR_NO_MEMORY;
	}
	ret->attributes = attributes;
	return ret->service.p && ret->operation.p ? ERR_OK : ERR_NO_MEMORY;
}

static uint64_t spans_of_day(const struct memory_store *m, struct str tenant, int64_t day)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->spans.n; i++)
		n += day_of(m->spans.v[i].span.start_ns) == day &&
		     str_eq(m->spans.v[i].tenant, tenant);
	return n;
}

enum err memory_add_spans(struct memory_store *m, const struct store_batch *b, struct fault *fault)
{
	size_t before = m->spans.n;
	struct str tenant;

	if (!b->spans.n)
		return ERR_OK;
	if (spans_of_day(m, b->tenant, day_of(b->spans.v[0].start_ns)) + b->spans.n >
	    m->base.options.limits.max_spans_per_day)
		return fault_set(fault, ERR_TOO_LARGE, "there are too many spans of traces today");
	tenant = arena_str(&m->arena, b->tenant);
	if (!tenant.p)
		return ERR_NO_MEMORY;
	TRY(vec_reserve(&m->spans, b->spans.n));
	for (size_t i = 0; i < b->spans.n; i++) {
		struct memory_span span = {.tenant = tenant};
		enum err e = copy_span(&m->arena, &b->spans.v[i], &span.span);

		if (e) {
			m->spans.n = before;
			return e;
		}
		m->spans.v[m->spans.n++] = span;
	}
	return ERR_OK;
}

static bool span_matches(const struct span_question *q, const struct trace_span *s)
{
	if (q->service.n && !str_eq(q->service, s->service))
		return false;
	if (q->operation.n && !str_eq(q->operation, s->operation))
		return false;
	if (q->trace_id && memcmp(q->trace_id, s->trace_id, sizeof(s->trace_id)))
		return false;
	return s->start_ns >= q->from_ns && s->start_ns < q->until_ns &&
	       s->duration_ns >= q->min_duration_ns;
}

static int compare_spans(const void *left, const void *right)
{
	const struct trace_span *a = left, *b = right;

	return (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

static enum err find_spans(const struct memory_store *m, struct str tenant,
			   const struct span_question *q, struct span_answer *ret)
{
	ret->v = arena_alloc(&ret->arena, (m->spans.n + 1) * sizeof(*ret->v));
	if (!ret->v)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m->spans.n; i++)
		if (str_eq(m->spans.v[i].tenant, tenant) && span_matches(q, &m->spans.v[i].span))
			ret->v[ret->n++] = m->spans.v[i].span;
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_spans);
	if (q->limit && ret->n > q->limit)
		ret->n = q->limit;
	for (size_t i = 0; i < ret->n; i++) {
		struct trace_span found = ret->v[i];

		TRY(copy_span(&ret->arena, &found, &ret->v[i]));
	}
	return ERR_OK;
}

enum err memory_spans(struct store *s, struct str tenant, const struct span_question *question,
		      struct ask *ask, struct span_answer *ret)
{
	struct memory_store *m = (struct memory_store *)s;
	struct span_answer answer = {0};
	enum err e;

	(void)ask;
	mutex_lock(&m->lock);
	e = find_spans(m, tenant, question, &answer);
	mutex_unlock(&m->lock);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}

/* ------------------------------------------------------------------ settings */

static struct memory_setting *find_setting(struct memory_store *m, struct str tenant,
					   struct str name)
{
	vec_for_each (setting, &m->settings) {
		if (str_eq(setting->tenant, tenant) && str_eq(str_of(setting->name), name))
			return setting;
	}
	return NULL;
}

static enum err put_setting(struct memory_store *m, struct str tenant, struct str name,
			    struct str value)
{
	struct memory_setting *found = find_setting(m, tenant, name), fresh = {0};
	char *copy;

	if (!value.p && found) {
		mem_free(found->name);
		mem_free(found->value);
		*found = m->settings.v[--m->settings.n];
	}
	if (!value.p)
		return ERR_OK;
	TRY(vec_reserve(&m->settings, 1));
	found = find_setting(m, tenant, name);
	copy = mem_strndup(value.p, value.n);
	if (!copy)
		return ERR_NO_MEMORY;
	if (!found) {
		fresh.name = mem_strndup(name.p, name.n);
		fresh.tenant = arena_str(&m->arena, tenant);
		if (!fresh.name || !fresh.tenant.p) {
			mem_free(fresh.name);
			mem_free(copy);
			return ERR_NO_MEMORY;
		}
		found = &m->settings.v[m->settings.n++];
		*found = fresh;
	}
	mem_free(found->value);
	found->value = copy;
	found->value_n = value.n;
	found->modified_ns = store_now(&m->base);
	return ERR_OK;
}

enum err memory_setting_set(struct store *s, struct str tenant, struct str name, struct str value)
{
	struct memory_store *m = (struct memory_store *)s;
	enum err e;

	mutex_lock(&m->lock);
	e = put_setting(m, tenant, name, value);
	mutex_unlock(&m->lock);
	return e;
}

static int compare_settings(const void *left, const void *right)
{
	const struct setting *a = left, *b = right;

	return str_cmp(a->name, b->name);
}

static enum err list_settings(const struct memory_store *m, struct str tenant,
			      struct setting_answer *ret)
{
	ret->v = arena_zalloc(&ret->arena, m->settings.n + 1, sizeof(*ret->v));
	if (!ret->v)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m->settings.n; i++) {
		const struct memory_setting *from = &m->settings.v[i];
		struct setting *to = &ret->v[ret->n];

		if (!str_eq(from->tenant, tenant))
			continue;
		to->name = arena_str(&ret->arena, str_of(from->name));
		to->value = arena_str(&ret->arena, str_n(from->value, from->value_n));
		to->modified_ns = from->modified_ns;
		if (!to->name.p || !to->value.p)
			return ERR_NO_MEMORY;
		ret->n++;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_settings);
	return ERR_OK;
}

enum err memory_settings(struct store *s, struct str tenant, struct setting_answer *ret)
{
	struct memory_store *m = (struct memory_store *)s;
	struct setting_answer answer = {0};
	enum err e;

	mutex_lock(&m->lock);
	e = list_settings(m, tenant, &answer);
	mutex_unlock(&m->lock);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}
