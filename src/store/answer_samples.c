/*
 * Answers made of single rows or profiles: heat maps over time, exemplars.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "store/call_site.h"
#include "store/heat_grid.h"
#include "store/question.h"

#define MAX_EXEMPLARS ((size_t)1 << 20)

struct heating {
	struct question q; /* first: handlers get it */
	struct heat_grid grid;
	const struct chunk_column *column; /* current */
	uint64_t untimed;
};

/* Values without a time: those of a gauge belong to the start of the profile. */
static enum err heat_untimed(struct heating *h, const struct chunk_view *v, int64_t total)
{
	if (!question_is_whole(&h->q, v, h->column))
		return heat_grid_spread(&h->grid, &h->q, v->head.time_ns, profile_end(&v->head),
					total);
	heat_grid_add(&h->grid, v->head.time_ns, total);
	return ERR_OK;
}

static enum err heat_rows(struct heating *h, const struct chunk_view *v,
			  const struct chunk_rows_read *rows)
{
	int64_t untimed = 0;

	for (uint32_t g = 0; g < rows->group_count; g++) {
		const struct chunk_group *group = &rows->groups[g];

		for (uint32_t i = group->first; i < group->first + group->n; i++) {
			if (rows->times[i])
				heat_grid_add(&h->grid, rows->times[i], rows->values[i]);
			else
				untimed = add_saturating(untimed, rows->values[i]);
			h->untimed += !rows->times[i];
		}
	}
	return heat_untimed(h, v, untimed);
}

static enum err heat_chunk(struct question *q, const struct chunk_view *v,
			   const struct chunk_column *column)
{
	struct heating *h = (struct heating *)q;
	struct chunk_rows_read rows;
	enum err e;

	h->column = column;
	if (question_takes_all(q, v, column) && !(v->head.flags & CHUNK_TIMES)) {
		h->untimed += v->head.rows;
		return heat_untimed(h, v, column->total);
	}
	TRY(question_rows(q, v, column, &rows));
	e = heat_rows(h, v, &rows);
	chunk_rows_release(&rows);
	return e;
}

enum err answer_heatmap(const struct source *source, struct str tenant,
			const struct selection *selection, int64_t column_ns, int64_t row_ns,
			struct ask *ask, struct heatmap_answer *ret)
{
	static const struct question_handler handler = {NULL, heat_chunk, NULL, NULL};
	struct heating h = {.grid = {.column_ns = column_ns, .row_ns = row_ns}};
	enum err e;

	question_init(&h.q, source, tenant, selection, ask);
	e = heat_grid_init(&h.grid, &h.q);
	if (!e)
		e = question_run(&h.q, &handler);
	if (!e) {
		heat_grid_finish(&h.grid);
		*ret = (struct heatmap_answer){h.grid.columns, h.grid.rows, h.grid.cells,
					       h.untimed};
		h.grid.cells = NULL;
	}
	heat_grid_release(&h.grid);
	question_release(&h.q);
	return e;
}

/* ------------------------------------------------------------------ exemplars */

struct choosing {
	struct question q; /* first: handlers get it */
	bool by_span;
	struct call_site site;
	struct arena arena; /* of the answer */
	VEC(struct exemplar) found;
};

static enum err copy_labels(struct choosing *c, uint32_t series, struct exemplar *e)
{
	const struct partition *p = c->q.partition;
	const struct series_entry *s = &p->series.v[series];
	struct label_pair *labels = arena_zalloc(&c->arena, (size_t)s->n + 1, sizeof(*labels));

	for (uint32_t i = 0; labels && i < s->n; i++) {
		labels[i].name = arena_str(&c->arena, s->labels[i].name);
		labels[i].value = arena_str(&c->arena, s->labels[i].value);
		if (!labels[i].name.p || !labels[i].value.p)
			return ERR_NO_MEMORY;
	}
	e->labels = labels;
	e->label_count = s->n;
	return labels ? ERR_OK : ERR_NO_MEMORY;
}

static enum err begin_exemplar(struct choosing *c, const struct chunk_view *v, struct exemplar *ret)
{
	enum err e;

	*ret = (struct exemplar){.time_ns = v->head.time_ns};
	if (ret->time_ns < c->q.selection->from_ns)
		ret->time_ns = c->q.selection->from_ns;
	mutex_lock(&c->q.partition->lock);
	e = copy_labels(c, v->head.series, ret);
	mutex_unlock(&c->q.partition->lock);
	ret->profile = question_profile(&c->q, v);
	return e;
}

static enum err add_exemplar(struct choosing *c, struct exemplar *e)
{
	if (c->found.n >= MAX_EXEMPLARS)
		return fault_set(c->q.ask->fault, ERR_TOO_LARGE,
				 "more than %zu profiles or spans: choose a shorter time",
				 MAX_EXEMPLARS);
	TRY(question_take(&c->q, sizeof(*e)));
	return vec_push(&c->found, *e);
}

/* Groups come sorted by link: those of one span stand together. */
static enum err add_spans(struct choosing *c, const struct chunk_rows_read *rows,
			  struct exemplar *e)
{
	for (uint32_t g = 0; g < rows->group_count;) {
		uint32_t link = rows->groups[g].link;

		e->value = 0;
		for (; g < rows->group_count && rows->groups[g].link == link; g++)
			for (uint32_t i = 0; i < rows->groups[g].n; i++)
				e->value = add_saturating(e->value,
							  rows->values[rows->groups[g].first + i]);
		if (!link || (e->value == 0 && !call_site_is_all(&c->site)))
			continue;
		memcpy(&e->link, rows->links.p + (link - 1) * sizeof(e->link), sizeof(e->link));
		TRY(add_exemplar(c, e));
	}
	return ERR_OK;
}

static enum err add_profile(struct choosing *c, const struct chunk_rows_read *rows,
			    struct exemplar *e)
{
	for (uint32_t g = 0; g < rows->group_count; g++)
		for (uint32_t i = 0; i < rows->groups[g].n; i++)
			e->value =
				add_saturating(e->value, rows->values[rows->groups[g].first + i]);
	return rows->group_count ? add_exemplar(c, e) : ERR_OK;
}

/* Rows without the requested function count as 0. */
static enum err keep_function(struct choosing *c, const struct chunk_view *v,
			      struct chunk_rows_read *rows)
{
	if (call_site_is_all(&c->site))
		return ERR_OK;
	TRY(call_site_look(&c->site, &c->q, v->head.stack_limit));
	for (uint32_t g = 0; g < rows->group_count; g++) {
		const struct chunk_group *group = &rows->groups[g];

		for (uint32_t i = group->first; i < group->first + group->n; i++)
			if (!c->site.takes.v[rows->stacks[i]])
				rows->values[i] = 0;
	}
	return ERR_OK;
}

static enum err begin_exemplars(struct question *q)
{
	call_site_begin(&((struct choosing *)q)->site);
	return ERR_OK;
}

static enum err exemplar_chunk(struct question *q, const struct chunk_view *v,
			       const struct chunk_column *column)
{
	struct choosing *c = (struct choosing *)q;
	struct chunk_rows_read rows;
	struct exemplar exemplar;
	enum err e;

	if (c->by_span && !v->head.links)
		return ERR_OK;
	TRY(begin_exemplar(c, v, &exemplar));
	if (!c->by_span && question_takes_all(q, v, column)) {
		exemplar.value = column->total;
		return add_exemplar(c, &exemplar);
	}
	TRY(question_rows(q, v, column, &rows));
	e = keep_function(c, v, &rows);
	if (!e)
		e = c->by_span ? add_spans(c, &rows, &exemplar) : add_profile(c, &rows, &exemplar);
	chunk_rows_release(&rows);
	return e;
}

static int compare_values(const void *left, const void *right)
{
	const struct exemplar *a = left, *b = right;

	return a->value != b->value ? (a->value < b->value) - (a->value > b->value)
				    : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int compare_times(const void *left, const void *right)
{
	const struct exemplar *a = left, *b = right;

	return a->time_ns != b->time_ns ? (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns)
					: (a->value < b->value) - (a->value > b->value);
}

/* The largest of them, in order of time. */
static enum err finish_exemplars(struct choosing *c, uint32_t limit, struct exemplar_answer *ret)
{
	size_t n = c->found.n;

	if (n)
		qsort(c->found.v, n, sizeof(*c->found.v), compare_values);
	if (limit && n > limit)
		n = limit;
	if (n)
		qsort(c->found.v, n, sizeof(*c->found.v), compare_times);
	ret->v = arena_alloc(&c->arena, (n + 1) * sizeof(*ret->v));
	if (!ret->v)
		return ERR_NO_MEMORY;
	if (n)
		memcpy(ret->v, c->found.v, n * sizeof(*ret->v));
	ret->n = n;
	ret->arena = c->arena;
	return ERR_OK;
}

enum err answer_exemplars(const struct source *source, struct str tenant,
			  const struct selection *selection,
			  const struct exemplar_question *question, struct ask *ask,
			  struct exemplar_answer *ret)
{
	static const struct question_handler handler = {begin_exemplars, exemplar_chunk, NULL,
							NULL};
	struct choosing c = {.by_span = question->by_span};
	struct exemplar_answer answer = {0};
	enum err e;

	if (question->by_span)
		c.site = (struct call_site){.function = question->function,
					    .late = question->late,
					    .late_count = question->late_count};
	question_init(&c.q, source, tenant, selection, ask);
	e = question_run(&c.q, &handler);
	if (!e)
		e = finish_exemplars(&c, question->limit, &answer);
	question_release(&c.q);
	call_site_release(&c.site);
	vec_release(&c.found);
	if (e)
		arena_release(&c.arena);
	else
		*ret = answer;
	return e;
}
