/*
 * Values over time. If whole profiles are selected, the totals in the heads of chunks suffice; rows
 * are only read for sample labels, links and functions.
 */
#include "store/charting.h"

#define MAX_POINTS 11000

static enum err begin(struct charting *c)
{
	const struct selection *s = c->q.selection;
	const struct series_question *question = c->question;
	int64_t step = question->step_ns, rest;
	uint64_t points;

	if (step <= 0 || s->until_ns <= s->from_ns)
		return fault_set(c->q.ask->fault, ERR_BAD_ARGUMENT,
				 "the step and the time range must not be empty");
	rest = s->from_ns % step;
	c->first_ns = s->from_ns - rest - (rest < 0 ? step : 0);
	points = ((uint64_t)s->until_ns - (uint64_t)c->first_ns + (uint64_t)step - 1) /
		 (uint64_t)step;
	if (points > MAX_POINTS)
		return fault_set(c->q.ask->fault, ERR_BAD_ARGUMENT,
				 "the step is too small: more than %d points", MAX_POINTS);
	c->n = (size_t)points;
	c->step_ns = step;
	coverage_init(&c->coverage, s->from_ns, s->until_ns);
	if (c->brief) {
		c->first_ns = s->from_ns;
		c->step_ns = INT64_MAX;
		c->n = 1;
	} else {
		coverage_buckets(&c->coverage, c->first_ns, step, c->n);
	}
	if (!question->force_sum && (c->q.each_type || question_may_be_gauge(&c->q)))
		c->q.lookback_ns = CARRIED_NS;
	c->grouping.names = question->group_by;
	c->grouping.name_count = question->group_count;
	c->site.path = question->call_site;
	c->site.path_count = question->call_site_count;
	c->site.function = question->function;
	c->site.self = question->function_self;
	c->site.late = question->late;
	c->site.late_count = question->late_count;
	c->q.rollup_ns = !grouping_fits_rollups(&c->grouping) ? 0 : c->brief ? NS_PER_DAY : step;
	/* No roll-ups for gauges, unless they are summed. */
	c->q.gauge_rollup_ns = question->force_sum ? c->q.rollup_ns : 0;
	return ERR_OK;
}

/* Whether something of a day may be in the range, or hold until then. */
static bool is_near(const struct question *q, const struct partition *p)
{
	int64_t from = add_saturating(q->selection->from_ns, -q->lookback_ns);

	if (p->day * NS_PER_DAY >= q->selection->until_ns ||
	    (p->day + 1) * NS_PER_DAY <= add_saturating(from, -PROFILE_LONGEST_NS))
		return false;
	/* A light partition has the times of its series, and is never changed. */
	for (size_t i = 0; p->light && i < p->series.n; i++) {
		const struct series_entry *s = &p->series.v[i];

		if ((!s->first_ns && !s->last_ns) ||
		    (s->last_ns >= from && s->first_ns < q->selection->until_ns))
			return true;
	}
	return !p->light;
}

/* Its only point contains the total. */
static void drop_points(struct series_points *s)
{
	s->points = NULL;
	s->covered = NULL;
	s->n = 0;
}

enum err answer_series_of(const struct source *source, const struct service_part *part,
			  const struct selection *selection, const struct series_question *question,
			  struct ask *ask, struct whole_list *wholes,
			  struct coverage_reach *ret_reach, struct series_answer *ret)
{
	CLEANUP(charting_release)
	struct charting c = {.question = question, .wholes = wholes, .brief = part->brief};
	struct series_answer answer = {0};
	enum err e;

	question_init(&c.q, source, (struct str){0}, selection, ask);
	c.q.each_type = question->each_type;
	c.q.handler = &charting_handler;
	TRY(begin(&c));
	for (size_t i = 0; i < part->n; i++)
		if (is_near(&c.q, part->partitions[i]))
			TRY(question_partition(&c.q, part->partitions[i]));
	e = charting_finish(&c, &answer);
	if (e) {
		arena_release(&answer.arena);
		return e;
	}
	for (size_t i = 0; part->brief && i < answer.n; i++)
		drop_points(&answer.series[i]);
	*ret = answer;
	*ret_reach = coverage_reach(&c.coverage);
	return ERR_OK;
}

int64_t answer_series_since(const struct series_question *question, int64_t from_ns)
{
	return add_saturating(from_ns, question->force_sum ? 0 : -CARRIED_NS);
}

enum err answer_series(const struct source *source, struct str tenant,
		       const struct selection *selection, const struct series_question *question,
		       struct ask *ask, struct series_answer *ret)
{
	CLEANUP(charting_release) struct charting c = {.question = question};
	struct series_answer answer = {0};
	enum err e;

	question_init(&c.q, source, tenant, selection, ask);
	c.q.each_type = question->each_type;
	TRY(begin(&c));
	TRY(question_run(&c.q, &charting_handler));
	e = charting_finish(&c, &answer);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}
