/*
 * "The last hour in which there is data": where the newest profile of a selection ends is found by
 * looking back from the newest of all in windows that grow, and then closer at the last bucket that
 * holds something. Windows near the end are small, so that a service that still runs costs little;
 * none is longer than a day, so that one that ended long ago costs a look at each day since, where
 * it is not, and at the profiles of its last day.
 */
#include <math.h>

#include "base/clock.h"
#include "server/inquiry.h"
#include "server/parameters.h"

#define FIRST_WINDOW_NS (3600 * NS_PER_S)
#define GROWTH		8
#define LAST_WINDOW_NS	(86400 * NS_PER_S)
#define BUCKETS		500
#define FINEST_NS	NS_PER_S
#define LONGEST_NS	(86400 * NS_PER_S) /* of a profile */

/* The last bucket of [from, until) that holds something. */
static enum err find_last(struct inquiry *q, int64_t from_ns, int64_t until_ns, bool *ret_found,
			  int64_t *ret_bucket_ns, int64_t *ret_step_ns)
{
	struct request *r = q->request;
	struct selection part = q->selection;
	struct series_question what = {.step_ns = FINEST_NS, .force_sum = true};
	struct series_answer answer = {0};

	part.from_ns = from_ns;
	part.until_ns = until_ns;
	if ((until_ns - from_ns) / BUCKETS > FINEST_NS)
		what.step_ns = (until_ns - from_ns) / BUCKETS / FINEST_NS * FINEST_NS;
	TRY(store_series(r->server->store, r->tenant, &part, &what, &q->ask, &answer));
	*ret_found = false;
	for (size_t i = 0; i < answer.n; i++)
		for (size_t k = answer.series[i].n; k-- > 0;)
			if (!isnan(answer.series[i].points[k].value)) {
				*ret_bucket_ns = answer.series[i].points[k].time_ns;
				*ret_step_ns = what.step_ns;
				*ret_found = true;
				break;
			}
	arena_release(&answer.arena);
	return ERR_OK;
}

/* Looks closer: the end of the last bucket of the finest kind. */
static enum err refine(struct inquiry *q, int64_t bucket_ns, int64_t step_ns, int64_t *ret_ns)
{
	bool found = true;

	*ret_ns = bucket_ns + step_ns;
	while (found && step_ns > FINEST_NS) {
		TRY(find_last(q, bucket_ns, bucket_ns + step_ns, &found, &bucket_ns, &step_ns));
		if (found)
			*ret_ns = bucket_ns + step_ns;
	}
	return ERR_OK;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

enum err inquiry_last(struct inquiry *q, int64_t length_ns)
{
	struct request *r = q->request;
	int64_t first, latest, end, window = FIRST_WINDOW_NS, bucket = 0, step = 0;
	struct store_stats stats;
	bool found = false;

	if (length_ns < NS_PER_S)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "time_range is a second at least, such as 15m, 1h or 2d");
	TRY(inquiry_need_type(q));
	TRY(store_stats(r->server->store, r->tenant, &stats));
	first = stats.oldest_ns > q->selection.from_ns ? stats.oldest_ns : q->selection.from_ns;
	latest = earlier(q->selection.until_ns, stats.newest_ns + FINEST_NS);
	/* Profiles end at most LONGEST_NS after the last start. */
	end = earlier(q->selection.until_ns, latest + LONGEST_NS);
	while (!found && latest > first) {
		int64_t begin = latest - first > window ? latest - window : first;

		TRY(find_last(q, begin, end, &found, &bucket, &step));
		end = latest = begin;
		window = window < LAST_WINDOW_NS / GROWTH ? window * GROWTH : LAST_WINDOW_NS;
	}
	if (!found)
		return inquiry_nothing(q);
	TRY(refine(q, bucket, step, &end));
	if (end < q->selection.until_ns)
		q->selection.until_ns = end;
	if (q->selection.until_ns - length_ns > q->selection.from_ns)
		q->selection.from_ns = q->selection.until_ns - length_ns;
	return ERR_OK;
}

enum err inquiry_select_asked(struct inquiry *q, struct str selector, struct str type,
			      const char *from, const char *until)
{
	struct request *r = q->request;
	int64_t from_ns, until_ns, length;

	TRY(parameter_range(r, from, until, &from_ns, &until_ns, q->fault));
	if (!parameter(r, "time_range").n)
		return inquiry_select(q, selector, type, from_ns, until_ns);
	TRY(duration_parse(parameter(r, "time_range"), &length, q->fault));
	if (!parameter(r, from).n)
		from_ns = 0;
	if (!parameter(r, until).n)
		until_ns = INT64_MAX;
	TRY(inquiry_select(q, selector, type, from_ns, until_ns));
	return inquiry_last(q, length);
}
