#include "sdk/harvest.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sdk/cpu_sampler.h"
#include "sdk/label_sets.h"
#include "sdk/wall.h"

#define STACK_MAX  1024
#define LABELS_MAX 64

/* Names of a kind's columns; some kinds have only one. */
struct measure {
	unsigned type; /* enum sdk_types */
	u8 kind;
	const char *count, *value, *unit;
};

/* In the order of columns. */
static const struct measure measures[] = {
	{SDK_CPU, SAMPLE_CPU, "samples", "cpu", "nanoseconds"},
	{SDK_ALLOC, SAMPLE_ALLOC, "alloc_objects", "alloc_space", "bytes"},
	{SDK_HEAP, SAMPLE_LIVE, "inuse_objects", "inuse_space", "bytes"},
	{SDK_LOCK, SAMPLE_LOCK, "contentions", "delay", "nanoseconds"},
	{SDK_LOCK, SAMPLE_HELD, "held_contentions", "held_delay", "nanoseconds"},
	{SDK_LOCK, SAMPLE_BLOCK, "block_contentions", "block_delay", "nanoseconds"},
	{SDK_WALL, SAMPLE_WALL, NULL, "wall", "nanoseconds"},
	{SDK_THREADS, SAMPLE_THREADS, NULL, "threads", "count"},
};
#define MEASURES (sizeof(measures) / sizeof(measures[0]))

/* ------------------------------------------------------------------ labels */

struct label_list {
	struct dict *dict;
	uint32_t ids[LABELS_MAX];
	uint32_t n;
};

static enum err add_label(struct label_list *l, struct str key, struct str value)
{
	if (!key.n || !value.n || l->n == LABELS_MAX)
		return ERR_OK;
	return dict_label_text(l->dict, key, value, &l->ids[l->n++]);
}

static enum err add_number(struct label_list *l, const char *key, int64_t value)
{
	struct label label = {.type = LABEL_INT, .value = value};

	if (l->n == LABELS_MAX)
		return ERR_OK;
	TRY(dict_text(l->dict, key, &label.key));
	return dict_label(l->dict, &label, &l->ids[l->n++]);
}

/* "a=b,c=d" */
static enum err add_attributes(struct label_list *l, struct str list)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		size_t at = str_find(one, '=');
		struct str key = str_trim(str_n(one.p, at)), value;

		if (at == one.n || str_eq(key, STR("service.name")))
			continue;
		value = str_trim(str_skip(one, at + 1));
		if (utf8_valid(key) && utf8_valid(value))
			TRY(add_label(l, key, value));
	}
	return ERR_OK;
}

static enum err resource_of(const struct sdk_settings *s, struct dict *d, uint32_t *ret)
{
	struct label_list l = {.dict = d};
	struct str program = str_of(s->program);
	size_t slash = str_rfind(program, '/');

	TRY(add_label(&l, STR("service.name"), str_of(s->service)));
	TRY(add_label(&l, STR("host.name"), str_of(s->host)));
	TRY(add_label(&l, STR("process.executable.path"), program));
	TRY(add_label(&l, STR("process.executable.name"),
		      slash < program.n ? str_skip(program, slash + 1) : program));
	TRY(add_number(&l, "process.pid", getpid()));
	TRY(add_attributes(&l, str_of(s->attributes)));
	return dict_label_set(d, l.ids, l.n, ret);
}

/* The subject of the row: a lock by name or address. */
static enum err add_about(struct label_list *l, struct place_names *names,
			  const struct tally_row *r)
{
	char text[512];

	if (r->about && (r->kind == SAMPLE_WALL || r->kind == SAMPLE_THREADS))
		return add_label(l, STR("state"),
				 str_of(thread_state_names[r->about % THREAD_STATES]));
	if (!r->about ||
	    (r->kind != SAMPLE_LOCK && r->kind != SAMPLE_HELD && r->kind != SAMPLE_BLOCK))
		return ERR_OK;
	if (place_variable(names, r->about, text, sizeof(text)) && utf8_valid(str_of(text)))
		return add_label(l, STR("lock.name"), str_of(text));
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)r->about);
	return add_label(l, STR("lock.address"), str_of(text));
}

static enum err labels_of(const struct tally *t, struct place_names *names,
			  const struct tally_row *r, struct dict *d, uint32_t *ret)
{
	const struct span_context *c = &t->contexts.v[r->context];
	struct label_list l = {.dict = d};
	struct str key, value;

	for (u32 i = 0; label_sets_get(c->label_set, i, &key, &value); i++)
		TRY(add_label(&l, key, value));
	if (c->name[0])
		TRY(add_label(&l, STR("span_name"), str_of(c->name)));
	TRY(add_about(&l, names, r));
	return dict_label_set(d, l.ids, l.n, ret);
}

static enum err link_of(const struct span_context *c, struct dict *d, uint32_t *ret)
{
	struct link link;

	memcpy(link.trace_id, c->trace_id, sizeof(link.trace_id));
	memcpy(link.span_id, c->span_id, sizeof(link.span_id));
	return dict_link(d, &link, ret);
}

/* ------------------------------------------------------------------ rows */

static enum err stack_of(const struct tally *t, struct place_names *names, u32 stack,
			 struct dict *d, uint32_t *ret)
{
	const struct tally_stack *s = &t->stacks.v[stack];
	uint32_t frames[STACK_MAX];
	size_t n = 0, added;

	for (u32 i = 0; i < s->n && n < STACK_MAX; i++) {
		TRY(place_frames(names, t->places.v[s->at + i], frames + n, STACK_MAX - n, &added));
		n += added;
	}
	return dict_stack(d, frames, (uint32_t)n, ret);
}

static enum err add_row(const struct tally *t, struct place_names *names, const struct tally_row *r,
			const struct measure *m, uint32_t column, struct profile *p)
{
	const struct span_context *context = &t->contexts.v[r->context];
	int64_t values[2 * MEASURES] = {0};
	struct row row = {0};

	if (m->count)
		values[column++] = r->count;
	values[column] = r->value;
	TRY(stack_of(t, names, r->stack, p->dict, &row.stack));
	TRY(labels_of(t, names, r, p->dict, &row.labels));
	TRY(link_of(context, p->dict, &row.link));
	return profile_add(p, &row, values);
}

static enum err add_types(const struct measure *m, struct profile *p)
{
	if (m->count)
		TRY(profile_add_type(p, str_of(m->count), STR("count")));
	return profile_add_type(p, str_of(m->value), str_of(m->unit));
}

/* As it is now: a budget may have made it longer, the system may not allow it so short. */
static int64_t true_period(u32 wanted_hz)
{
	int64_t now = cpu_period_ns();

	return now ? now : NS_PER_S / wanted_hz;
}

static enum err set_period(const struct sdk_settings *s, unsigned types, struct profile *p)
{
	static const struct {
		unsigned types;
		const char *type, *unit;
	} periods[] = {{SDK_CPU, "cpu", "nanoseconds"},
		       {SDK_ALLOC | SDK_HEAP, "space", "bytes"},
		       {SDK_WALL, "wall", "nanoseconds"},
		       {SDK_LOCK, "contentions", "count"},
		       {SDK_THREADS, "threads", "count"}};
	int64_t lengths[] = {true_period(s->rate_hz), (int64_t)s->alloc_interval, WALL_ROUND_NS, 1,
			     1};
	size_t i = 0;

	while (!(types & periods[i].types))
		i++;
	TRY(dict_text(p->dict, periods[i].type, &p->period_type.type));
	TRY(dict_text(p->dict, periods[i].unit, &p->period_type.unit));
	/* Waits are reported as if each had been counted. */
	p->period = lengths[i];
	return ERR_OK;
}

static enum err begin(const struct sdk_settings *s, const struct harvest_window *w, unsigned types,
		      struct profile *p)
{
	p->time_ns = w->start_ns;
	p->duration_ns = w->duration_ns;
	TRY(resource_of(s, p->dict, &p->resource));
	TRY(dict_text(p->dict, "libvestal", &p->scope_name));
	TRY(dict_text(p->dict, VESTAL_VERSION, &p->scope_version));
	return set_period(s, types, p);
}

/* The new count may be 0. */
static enum err add_rows(const struct tally *t, struct place_names *names, const struct measure *m,
			 uint32_t column, struct profile *p)
{
	vec_for_each (row, &t->rows)
		if (row->kind == m->kind && (row->count || row->value))
			TRY(add_row(t, names, row, m, column, p));
	return ERR_OK;
}

static bool has_rows(const struct tally *t, u8 kind)
{
	vec_for_each (row, &t->rows)
		if (row->kind == kind)
			return true;
	return false;
}

enum err harvest_profiles(const struct tally *t, struct place_names *names,
			  const struct sdk_settings *settings, const struct harvest_window *w,
			  struct dict *d, struct profile_list *ret)
{
	place_names_begin(names, d);
	for (size_t i = 0; i < MEASURES; i++) {
		const struct measure *m = &measures[i];
		struct profile *p;

		if (!(settings->types & m->type) || !has_rows(t, m->kind))
			continue;
		TRY(profile_list_add(ret, d, &p));
		TRY(begin(settings, w, m->type, p));
		TRY(add_types(m, p));
		p->default_type = m->count ? 1 : 0;
		TRY(add_rows(t, names, m, 0, p));
	}
	return ERR_OK;
}

enum err harvest_one(const struct tally *t, struct place_names *names,
		     const struct sdk_settings *settings, const struct harvest_window *w,
		     struct profile *ret)
{
	uint32_t column = 0;

	place_names_begin(names, ret->dict);
	TRY(begin(settings, w, settings->types, ret));
	for (size_t i = MEASURES; i-- > 0;)
		if (settings->types & measures[i].type)
			ret->default_type = measures[i].count ? 1 : 0;
	for (size_t i = 0; i < MEASURES; i++)
		if (settings->types & measures[i].type)
			TRY(add_types(&measures[i], ret));
	for (size_t i = 0; i < MEASURES; i++)
		if (settings->types & measures[i].type) {
			TRY(add_rows(t, names, &measures[i], column, ret));
			column += measures[i].count ? 2 : 1;
		}
	return ERR_OK;
}
