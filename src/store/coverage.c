#include "store/coverage.h"

#include <stdlib.h>

/* From here on profiles of a line become runs also where they do not come regularly. */
#define MOST_RUNS      65536
/* Of a gauge that was seen once. */
#define UNKNOWN_GAP_NS INT64_C(60000000000)

int64_t profile_length(int64_t duration_ns)
{
	if (duration_ns < 0)
		return 0;
	return duration_ns < PROFILE_LONGEST_NS ? duration_ns : PROFILE_LONGEST_NS;
}

int64_t last_moment(int64_t time_ns, int64_t duration_ns)
{
	int64_t length = profile_length(duration_ns);

	return add_saturating(time_ns, length ? length - 1 : 0);
}

static int64_t within(int64_t length, int64_t most)
{
	return length < 0 ? 0 : length < most ? length : most;
}

struct coverage_run coverage_of_chunk(const struct chunk_head *head)
{
	int64_t length = profile_length(head->duration_ns);
	int64_t end = add_saturating(head->time_ns, length);

	if (head->flags & CHUNK_RUN && head->column_count)
		return (struct coverage_run){head->time_ns,
					     add_saturating(head->time_ns,
							    within(head->columns[0].scale, length)),
					     end,
					     within(head->columns[0].total, length),
					     head->profiles ? head->profiles : 1,
					     true};
	return (struct coverage_run){head->time_ns, head->time_ns, end, length, 1, false};
}

void coverage_init(struct coverage *c, int64_t from_ns, int64_t until_ns)
{
	*c = (struct coverage){
		.from_ns = from_ns, .until_ns = until_ns, .buckets = 1, .most_runs = MOST_RUNS};
	c->first_ns = from_ns;
}

void coverage_buckets(struct coverage *c, int64_t first_ns, int64_t step_ns, size_t n)
{
	c->first_ns = first_ns;
	c->step_ns = step_ns;
	c->buckets = n;
}

void coverage_release(struct coverage *c)
{
	vec_for_each (line, &c->lines) {
		vec_release(&line->waiting);
		vec_release(&line->whole.runs);
		vec_release(&line->parts.runs);
		vec_release(&line->present);
		mem_free(line->covered);
	}
	vec_release(&c->lines);
	map_release(&c->index);
}

static size_t bucket_of(const struct coverage *c, int64_t time_ns)
{
	int64_t bucket =
		!c->step_ns || time_ns < c->first_ns ? 0 : (time_ns - c->first_ns) / c->step_ns;

	return (size_t)bucket < c->buckets ? (size_t)bucket : c->buckets - 1;
}

/* End of a bucket, limited to the range. */
static int64_t bucket_end(const struct coverage *c, size_t bucket)
{
	int64_t end;

	if (bucket + 1 >= c->buckets ||
	    __builtin_mul_overflow((int64_t)bucket + 1, c->step_ns, &end) ||
	    __builtin_add_overflow(end, c->first_ns, &end))
		return c->until_ns;
	return end < c->until_ns ? end : c->until_ns;
}

size_t coverage_bucket(const struct coverage *c, int64_t time_ns, int64_t *ret_end)
{
	size_t bucket = bucket_of(c, time_ns);

	*ret_end = bucket_end(c, bucket);
	return bucket;
}

/* Lengths per bucket, from bucket `first` on. */
struct cells {
	size_t first;
	int64_t *v;
};

/* ------------------------------------------------------------------ one line */

struct gap {
	int64_t length;
	uint64_t n;
};

static int by_length(const void *left, const void *right)
{
	const struct gap *a = left, *b = right;

	return (a->length > b->length) - (a->length < b->length);
}

/* The median, 0 where there is no gap. */
static enum err find_usual_gap(const struct coverage_line *l, int64_t *ret)
{
	CLEANUP(mem_free_ptr) struct gap *gaps = NULL;
	uint64_t all = 0, shorter = 0;
	size_t n = 0;

	*ret = 0;
	/* At most one gap, the common case with many lines: it is the median. */
	if (l->whole.runs.n < 2) {
		int64_t gap = l->whole.runs.n ? coverage_usual_gap(&l->whole.runs.v[0]) : 0;

		*ret = gap > 0 ? gap : 0;
		return ERR_OK;
	}
	gaps = mem_zalloc(2 * l->whole.runs.n, sizeof(*gaps));
	if (!gaps)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < l->whole.runs.n; i++) {
		const struct coverage_run *r = &l->whole.runs.v[i];

		if (i)
			gaps[n++] = (struct gap){r->start_ns - r[-1].last_ns, 1};
		if (r->n > 1)
			gaps[n++] = (struct gap){coverage_usual_gap(r), r->n - 1};
	}
	if (n)
		qsort(gaps, n, sizeof(*gaps), by_length);
	for (size_t i = 0; i < n; i++)
		all += gaps[i].n;
	for (size_t i = 0; i < n && 2 * shorter < all; i++) {
		shorter += gaps[i].n;
		*ret = gaps[i].length > 0 ? gaps[i].length : 0;
	}
	return ERR_OK;
}

/* Adds the part of [start, end) that lies in each bucket; all of it counts for `length`. */
static void spread(const struct coverage *c, int64_t start, int64_t end, int64_t length,
		   struct cells cells)
{
	__int128 before = 0, whole = (__int128)end - start;
	int64_t from = start > c->from_ns ? start : c->from_ns;
	int64_t until = end < c->until_ns ? end : c->until_ns;

	if (from >= until)
		return;
	before = (__int128)length * (from - start) / whole;
	for (size_t b = bucket_of(c, from); from < until; b++) {
		int64_t cut = bucket_end(c, b) < until ? bucket_end(c, b) : until;
		__int128 after = (__int128)length * ((__int128)cut - start) / whole;

		cells.v[b - cells.first] += (int64_t)(after - before);
		before = after;
		from = cut;
	}
}

/* A run from `start` on, which no other covers. */
static int64_t cover_run(const struct coverage *c, const struct coverage_run *r, int64_t start,
			 struct cells covered)
{
	int64_t part = r->covered_ns, last = r->end_ns - r->last_ns;

	if (r->n == 1 || start != r->start_ns) {
		/* Evenly: a part of its length has that part of its cover. */
		part = (int64_t)((__int128)part * (r->end_ns - start) / (r->end_ns - r->start_ns));
		spread(c, start, r->end_ns, part, covered);
		return part;
	}
	/* The last by itself: it alone may be cut. */
	last = last < part ? last : part;
	if (r->last_ns > r->start_ns)
		spread(c, r->start_ns, r->last_ns, part - last, covered);
	spread(c, r->end_ns - last, r->end_ns, last, covered);
	return part;
}

/* The gaps of a run, up to its last profile. */
struct hole {
	int64_t until_ns, length;
};

/* A late profile, or one of another process with the same labels, covers gaps. */
static void fill_hole(const struct coverage *c, struct hole *h, const struct coverage_run *r,
		      struct cells covered)
{
	int64_t end = r->end_ns < h->until_ns ? r->end_ns : h->until_ns, part;

	if (end <= r->start_ns)
		return;
	part = (int64_t)((__int128)r->covered_ns * (end - r->start_ns) / (r->end_ns - r->start_ns));
	part = part < h->length ? part : h->length;
	spread(c, r->start_ns, end, part, covered);
	h->length -= part;
}

static void cover(const struct coverage *c, const struct coverage_list *list, struct cells covered)
{
	struct hole hole = {INT64_MIN, 0};
	int64_t reach = INT64_MIN;

	vec_for_each (r, &list->runs) {
		int64_t start = r->start_ns > reach ? r->start_ns : reach;

		if (r->start_ns >= r->end_ns)
			continue;
		fill_hole(c, &hole, r, covered);
		if (start >= r->end_ns)
			continue;
		reach = r->end_ns;
		hole.length = reach - start - cover_run(c, r, start, covered);
		hole.until_ns = r->last_ns;
	}
}

static enum err be_there(const struct coverage *c, struct coverage_line *l, int64_t from,
			 int64_t until)
{
	struct coverage_time *last = l->present.n ? &l->present.v[l->present.n - 1] : NULL;

	from = from > c->from_ns ? from : c->from_ns;
	until = until < c->until_ns ? until : c->until_ns;
	if (from >= until)
		return ERR_OK;
	if (!last || last->end_ns < from)
		return vec_push(&l->present, ((struct coverage_time){from, until}));
	if (until > last->end_ns)
		last->end_ns = until;
	return ERR_OK;
}

/* A run that is sparse itself: each of its profiles for as long as usual. */
static enum err be_there_now_and_then(const struct coverage *c, struct coverage_line *l,
				      const struct coverage_run *r, int64_t usual)
{
	int64_t gap = coverage_usual_gap(r), hold = r->covered_ns / (int64_t)r->n;

	if (hold < usual)
		hold = usual;
	for (uint64_t i = 0; i + 1 < r->n; i++) {
		int64_t start = r->start_ns + (int64_t)i * gap;

		TRY(be_there(c, l, start, start + hold));
	}
	return ERR_OK;
}

int64_t coverage_carried_until(const struct coverage *c, const struct coverage_line *line)
{
	int64_t usual = line->usual_ns ? line->usual_ns : UNKNOWN_GAP_NS, until;

	if (line->before_ns == INT64_MIN)
		return c->from_ns;
	until = add_saturating(line->before_ns, CARRIED_GAPS * usual);
	if (until > c->until_ns)
		until = c->until_ns;
	return until > c->from_ns ? until : c->from_ns;
}

static enum err appear(const struct coverage *c, struct coverage_line *l)
{
	int64_t reach = INT64_MIN, first = l->whole.runs.v[0].start_ns;
	int64_t usual = !l->usual_ns && l->gauge ? UNKNOWN_GAP_NS : l->usual_ns;

	/* One that comes as soon as it would if it had been there before was there. */
	if (usual && first > c->from_ns && first - c->from_ns <= usual)
		TRY(be_there(c, l, c->from_ns, first));
	vec_for_each (r, &l->whole.runs) {
		bool more = r + 1 < l->whole.runs.v + l->whole.runs.n;
		int64_t until;

		if (coverage_usual_gap(r) <= 2 * usual)
			TRY(be_there(c, l, r->start_ns, r->last_ns));
		else
			TRY(be_there_now_and_then(c, l, r, usual));
		reach = r->end_ns > reach ? r->end_ns : reach;
		until = add_saturating(r->last_ns, usual);
		if (l->gauge && r->last_ns == l->before_ns)
			until = coverage_carried_until(c, l);
		until = until > reach ? until : reach;
		if (more && (r[1].start_ns - r->last_ns <= 2 * usual || until > r[1].start_ns))
			until = r[1].start_ns;
		TRY(be_there(c, l, r->last_ns, until));
	}
	return ERR_OK;
}

static void sort_runs(struct coverage_list *list)
{
	if (list->runs.n > 1)
		qsort(list->runs.v, list->runs.n, sizeof(*list->runs.v), coverage_by_start);
}

/* Finds the buckets that may overlap the line. */
static void find_buckets(const struct coverage *c, struct coverage_line *l)
{
	int64_t from = INT64_MAX, until = INT64_MIN;

	vec_for_each (r, &l->whole.runs) {
		from = r->start_ns < from ? r->start_ns : from;
		until = r->end_ns > until ? r->end_ns : until;
	}
	vec_for_each (t, &l->present) {
		from = t->start_ns < from ? t->start_ns : from;
		until = t->end_ns > until ? t->end_ns : until;
	}
	from = from > c->from_ns ? from : c->from_ns;
	until = until < c->until_ns ? until : c->until_ns;
	if (from >= until)
		return;
	l->first = bucket_of(c, from);
	l->end = bucket_of(c, until - 1) + 1;
}

/* Over the whole range, and in every bucket. */
static void measure_line(const struct coverage *c, struct coverage_line *l)
{
	const struct coverage range = {.from_ns = c->from_ns,
				       .until_ns = c->until_ns,
				       .first_ns = c->from_ns,
				       .buckets = 1};
	struct cells covered = {l->first, l->covered}, presence = {l->first, l->presence};

	vec_for_each (t, &l->present) {
		spread(c, t->start_ns, t->end_ns, t->end_ns - t->start_ns, presence);
		l->present_ns += t->end_ns - t->start_ns;
	}
	if (l->gauge) {
		memcpy(l->covered, l->presence, (l->end - l->first) * sizeof(*l->covered));
		l->covered_ns = l->present_ns;
		return;
	}
	cover(&range, &l->whole, (struct cells){0, &l->covered_ns});
	cover(c, c->buckets > 1 ? &l->parts : &l->whole, covered);
}

static enum err finish_line(struct coverage *c, struct question *q, struct coverage_line *l)
{
	TRY(coverage_settle(c, q, l));
	sort_runs(&l->whole);
	sort_runs(&l->parts);
	TRY(find_usual_gap(l, &l->usual_ns));
	if (l->whole.runs.n)
		TRY(appear(c, l));
	find_buckets(c, l);
	TRY(question_array(q, 2 * (l->end - l->first), sizeof(*l->covered), &l->covered));
	l->presence = l->covered + (l->end - l->first);
	measure_line(c, l);
	return ERR_OK;
}

enum err coverage_finish(struct coverage *c, struct question *q)
{
	vec_for_each (line, &c->lines)
		TRY(finish_line(c, q, line));
	return ERR_OK;
}

/* ------------------------------------------------------------------ many lines */

static int by_time(const void *left, const void *right)
{
	const struct coverage_time *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

int64_t coverage_presence(const struct coverage_line *line, size_t bucket)
{
	return bucket >= line->first && bucket < line->end ? line->presence[bucket - line->first]
							   : 0;
}

/* Adds to every bucket how long any of the lines was there. */
static enum err unite(const struct coverage *c, const uint32_t *lines, size_t n, int64_t *buckets)
{
	CLEANUP(mem_free_ptr) struct coverage_time *times = NULL;
	int64_t reach = INT64_MIN;
	size_t all = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		all += c->lines.v[lines[i]].present.n;
	times = mem_zalloc(all + 1, sizeof(*times));
	if (!times)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		vec_for_each (t, &c->lines.v[lines[i]].present)
			times[at++] = *t;
	if (n > 1 && all)
		qsort(times, all, sizeof(*times), by_time);
	for (size_t i = 0; i < all; i++) {
		int64_t start = times[i].start_ns > reach ? times[i].start_ns : reach;

		spread(c, start, times[i].end_ns, times[i].end_ns - start,
		       (struct cells){0, buckets});
		reach = times[i].end_ns > reach ? times[i].end_ns : reach;
	}
	return ERR_OK;
}

static int64_t part_of(int64_t any, __int128 covered, __int128 present)
{
	/* So that the product fits. */
	while (covered > INT64_MAX || present > INT64_MAX) {
		covered /= 2;
		present /= 2;
	}
	return present ? (int64_t)((any * covered + present / 2) / present) : 0;
}

/* Covered and present time of several lines. */
struct length_sum {
	__int128 covered, present;
};

static void sum_buckets(const struct coverage *c, const uint32_t *lines, size_t n,
			struct length_sum *sums)
{
	for (size_t i = 0; i < n; i++) {
		const struct coverage_line *l = &c->lines.v[lines[i]];

		for (size_t b = l->first; b < l->end; b++) {
			sums[b].covered += l->covered[b - l->first];
			sums[b].present += l->presence[b - l->first];
		}
	}
}

enum err coverage_sum(const struct coverage *c, const uint32_t *lines, size_t n,
		      int64_t *ret_points, int64_t *ret_total)
{
	CLEANUP(mem_free_ptr) struct length_sum *sums = mem_zalloc(c->buckets, sizeof(*sums));
	CLEANUP(mem_free_ptr) int64_t *any = mem_zalloc(c->buckets, sizeof(*any));
	struct length_sum all = {0};
	int64_t all_any = 0;

	if (!any || !sums)
		return ERR_NO_MEMORY;
	TRY(unite(c, lines, n, any));
	if (ret_points)
		sum_buckets(c, lines, n, sums);
	for (size_t b = 0; b < c->buckets; b++) {
		if (ret_points)
			ret_points[b] = part_of(any[b], sums[b].covered, sums[b].present);
		all_any += any[b];
	}
	for (size_t i = 0; i < n; i++) {
		all.covered += c->lines.v[lines[i]].covered_ns;
		all.present += c->lines.v[lines[i]].present_ns;
	}
	*ret_total = part_of(all_any, all.covered, all.present);
	return ERR_OK;
}

enum err coverage_total(const struct coverage *c, int64_t *ret)
{
	CLEANUP(mem_free_ptr) uint32_t *lines = mem_zalloc(c->lines.n + 1, sizeof(*lines));

	if (!lines)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < c->lines.n; i++)
		lines[i] = i;
	return coverage_sum(c, lines, c->lines.n, NULL, ret);
}

struct coverage_reach coverage_reach(const struct coverage *c)
{
	struct coverage_reach reach = {INT64_MAX, INT64_MIN};

	vec_for_each (l, &c->lines) {
		int64_t usual = !l->usual_ns && l->gauge ? UNKNOWN_GAP_NS : l->usual_ns;
		int64_t first = l->whole.runs.n ? l->whole.runs.v[0].start_ns : INT64_MAX;

		/* As soon as it would come if it had been there before. */
		first = add_saturating(first, -usual);
		reach.from_ns = first < reach.from_ns ? first : reach.from_ns;
		vec_for_each (r, &l->whole.runs)
			reach.until_ns = r->end_ns > reach.until_ns ? r->end_ns : reach.until_ns;
		vec_for_each (t, &l->present)
			reach.until_ns = t->end_ns > reach.until_ns ? t->end_ns : reach.until_ns;
	}
	return reach;
}

/* ------------------------------------------------------------------ of several coverages */

#define WHOLE_PORTION 4096

void coverage_whole_release(struct coverage_whole *w)
{
	vec_release(&w->times);
}

/* Merges intervals that touch or overlap. */
void coverage_whole_tidy(struct coverage_whole *w)
{
	size_t n = 0;

	if (w->times.n)
		qsort(w->times.v, w->times.n, sizeof(*w->times.v), by_time);
	for (size_t i = 0; i < w->times.n; i++) {
		const struct coverage_time *t = &w->times.v[i];

		if (n && t->start_ns <= w->times.v[n - 1].end_ns) {
			if (t->end_ns > w->times.v[n - 1].end_ns)
				w->times.v[n - 1].end_ns = t->end_ns;
			continue;
		}
		w->times.v[n++] = *t;
	}
	w->times.n = w->apart = n;
}

enum err coverage_whole_join(struct coverage_whole *w, __int128 covered_ns, __int128 present_ns,
			     const struct coverage_time *times, size_t n)
{
	w->covered += covered_ns;
	w->present += present_ns;
	TRY(vec_append(&w->times, times, n));
	if (w->times.n > 2 * w->apart + WHOLE_PORTION)
		coverage_whole_tidy(w);
	return ERR_OK;
}

enum err coverage_whole_add(struct coverage_whole *w, const struct coverage *c,
			    const uint32_t *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct coverage_line *line = &c->lines.v[lines[i]];

		for (size_t b = 0; b < line->end - line->first; b++) {
			w->covered += line->covered[b];
			w->present += line->presence[b];
		}
		TRY(vec_append(&w->times, line->present.v, line->present.n));
	}
	if (w->times.n > 2 * w->apart + WHOLE_PORTION)
		coverage_whole_tidy(w);
	return ERR_OK;
}

int64_t coverage_whole_total(struct coverage_whole *w)
{
	int64_t any = 0;

	coverage_whole_tidy(w);
	vec_for_each (t, &w->times)
		any += t->end_ns - t->start_ns;
	return part_of(any, w->covered, w->present);
}
