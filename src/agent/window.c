#include "agent/window.h"

#include <math.h>
#include <stdlib.h>

#include "agent/lock_names.h"
#include "agent/window_labels.h"
#include "base/clock.h"
#include "bpf/records.h"

/* Longest stack that is written, inlined functions counted. */
#define STACK_MAX	4096
/* Number of frames used to find out what it waits for: the kernel's and some more. */
#define LOCK_FRAMES_MAX 64

/* Names of a type's columns: count and value. */
struct measure {
	unsigned type; /* enum capture_types */
	const char *count_name, *value_name, *unit;
};

/* In order of columns; the value of the first is the default. */
static const struct measure measures[] = {
	{CAPTURE_CPU, "samples", "cpu", "nanoseconds"},
	{CAPTURE_WAITS, "off_cpu_waits", "off_cpu", "nanoseconds"},
	{CAPTURE_LOCKS, "contentions", "delay", "nanoseconds"},
	{CAPTURE_WALL, NULL, "wall", "nanoseconds"},
	{CAPTURE_THREADS, NULL, "threads", "count"},
	{CAPTURE_FAULTS, NULL, "faults", "bytes"},
	{CAPTURE_MAPPED, NULL, "mapped", "bytes"},
	{CAPTURE_LOOPS, "turns", "lag", "nanoseconds"},
};
/* Those whose values depend on how closely off-CPU time is followed. */
#define WAIT_TYPES (CAPTURE_WAITS | CAPTURE_LOCKS | CAPTURE_WALL)
#define MEASURES   (sizeof(measures) / sizeof(measures[0]))
_Static_assert(MEASURES == WATCHED_MEASURES, "each measure is followed");

static bool belongs(const struct collected *one, unsigned type)
{
	switch (type) {
	case CAPTURE_CPU:
		return one->sample.kind == RECORD_CPU;
	case CAPTURE_WAITS:
		return one->sample.kind == RECORD_WAIT;
	case CAPTURE_LOCKS:
		return one->sample.kind == RECORD_WAIT && one->sample.lock && !one->other_wait;
	case CAPTURE_THREADS:
		return one->sample.kind == RECORD_THREAD && one->count > 0;
	case CAPTURE_FAULTS:
		return one->sample.kind == RECORD_FAULT;
	case CAPTURE_MAPPED:
		return one->sample.kind == RECORD_MAP;
	case CAPTURE_LOOPS:
		return one->sample.kind == RECORD_LOOP;
	default:
		return one->sample.kind == RECORD_CPU || one->sample.kind == RECORD_WAIT;
	}
}

static enum err add_types(const struct measure *m, const struct window *w, struct profile *p)
{
	if (m->count_name)
		TRY(profile_add_type(p, str_of(m->count_name), STR("count")));
	TRY(profile_add_type(p, str_of(m->value_name), str_of(m->unit)));
	if (m->type == CAPTURE_CPU) {
		TRY(dict_text(p->dict, "cpu", &p->period_type.type));
		TRY(dict_text(p->dict, "nanoseconds", &p->period_type.unit));
		p->period = (int64_t)w->period_ns;
	}
	return ERR_OK;
}

/* The frames' ids, leaf first; at most `max`. */
static enum err frames_of(const struct collector *c, struct names *n, const struct collected *one,
			  size_t max, uint32_t *ids, size_t *ret_count)
{
	const struct sample_frame *frames = collected_frames(c, one);
	size_t count = 0, added;

	for (u32 i = 0; i < one->sample.frame_count && count < max; i++) {
		TRY(names_frames(n, one->sample.process, frames[i], ids + count, max - count,
				 &added));
		count += added;
	}
	*ret_count = count;
	return ERR_OK;
}

/* In place of the callers that are missing. */
static enum err mark_end(struct dict *d, bool cut, uint32_t *ret)
{
	struct function function = {0};
	struct frame f = {0};

	TRY(dict_text(d, cut ? STACK_MARK_CUT : STACK_MARK_FAILED, &function.name));
	TRY(dict_function(d, &function, &f.function));
	TRY(dict_text(d, STACK_MARK_KIND, &f.kind));
	return dict_frame(d, &f, ret);
}

static enum err stack_of(const struct collector *c, struct names *n, const struct collected *one,
			 struct dict *d, uint32_t *ret)
{
	uint32_t ids[STACK_MAX + 1];
	size_t count;

	TRY(frames_of(c, n, one, STACK_MAX, ids, &count));
	if (one->sample.end != UNWIND_ROOT || count == STACK_MAX) {
		bool cut = one->sample.end == UNWIND_CUT || count == STACK_MAX;

		TRY(mark_end(d, cut, &ids[count]));
		count++;
	}
	return dict_stack(d, ids, (uint32_t)count, ret);
}

/* Symbols are needed to know which futex waits are lock waits. `n` uses dictionary `d`. */
static enum err tell_locks(struct collector *c, struct names *n, const struct dict *d)
{
	uint32_t ids[LOCK_FRAMES_MAX];
	size_t count;

	vec_for_each (one, &c->list) {
		if (!one->sample.lock || one->sample.kind != RECORD_WAIT)
			continue;
		TRY(frames_of(c, n, one, LOCK_FRAMES_MAX, ids, &count));
		one->other_wait = !stack_waits_for_lock(d, ids, count);
	}
	return ERR_OK;
}

/* Fills the columns of a measure from `column` on; returns how many it has. */
static u32 put_values(const struct measure *m, const struct collected *one, int64_t *column)
{
	u32 n = 0;

	if (m->count_name)
		column[n++] = belongs(one, m->type) ? llround(one->count) : 0;
	column[n++] = belongs(one, m->type) ? llround(one->value) : 0;
	return n;
}

/* More than any clock is off in a window. */
#define JUMP_NS NS_PER_S

int64_t window_length(int64_t wall_ns, int64_t monotonic_ns)
{
	int64_t jump = wall_ns - monotonic_ns;

	return jump > -JUMP_NS && jump < JUMP_NS && wall_ns > 0 ? wall_ns : monotonic_ns;
}

void window_follow(struct window *w, bool broken)
{
	for (size_t i = 0; i < MEASURES; i++) {
		if (broken || !(w->types & measures[i].type))
			w->since_ns[i] = 0;
		else if (!w->since_ns[i])
			w->since_ns[i] = w->start_ns;
	}
}

int64_t window_sample_value(int64_t sum, int64_t count, int64_t n, uint64_t period_ns)
{
	int64_t part = (int64_t)(period_ns / CLOCK_PARTS);

	if (part <= 0 || sum % part)
		part = 1;
	return (int64_t)((__int128)(sum / part) * (n + 1) / count -
			 (__int128)(sum / part) * n / count) *
	       part;
}

/* In steps of about a millisecond: finer is noise, and does not compress. */
#define TIME_STEP ((uint64_t)1 << 20)

/* A row for each sample, with its time; within the window, also when a table came late. */
static enum err add_timed(const struct collector *c, const struct collected *one,
			  const struct window *w, struct row row, struct profile *p)
{
	uint64_t start = (uint64_t)w->start_ns, end = start + (uint64_t)w->duration_ns;
	uint64_t offset = start - (uint64_t)w->start_monotonic_ns;
	int64_t sum = llround(one->value), count = llround(one->count), n = 0;

	for (u32 at = one->last_time; at; at = c->times.v[at - 1].previous) {
		int64_t values[2] = {1, window_sample_value(sum, count, n++, w->period_ns)};

		row.time = (c->times.v[at - 1].time + offset) & ~(TIME_STEP - 1);
		if (row.time < start)
			row.time = start;
		else if (row.time >= end)
			row.time = end - 1;
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}

static enum err add_row(const struct collector *c, struct names *n, const struct collected *one,
			const struct window *w, unsigned types, struct label_list *labels,
			struct profile *p)
{
	int64_t values[2 * MEASURES] = {0};
	struct row row = {0};
	u32 column = 0;

	for (size_t i = 0; i < MEASURES; i++)
		if (types & measures[i].type)
			column += put_values(&measures[i], one, values + column);
	TRY(stack_of(c, n, one, p->dict, &row.stack));
	TRY(labels_of_sample(c, n, one, labels));
	TRY(dict_label_set(p->dict, labels->ids, labels->n, &row.labels));
	if (w->times && types == CAPTURE_CPU && one->last_time)
		return add_timed(c, one, w, row, p);
	return profile_add(p, &row, values);
}

/* Rows whose texts came out equal become one: wakers differ in what they interrupted. */
static enum err fold_rows(struct profile *p)
{
	struct profile folded;

	TRY(profile_aggregate(p, 0, &folded));
	profile_release(p);
	*p = folded;
	return ERR_OK;
}

static bool wanted_at_all(const struct collected *one, unsigned types)
{
	for (size_t i = 0; i < MEASURES; i++)
		if (types & measures[i].type && belongs(one, measures[i].type))
			return true;
	return false;
}

enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *p)
{
	for (size_t i = MEASURES; i-- > 0;)
		if (w->types & measures[i].type)
			p->default_type = measures[i].count_name ? 1 : 0;
	for (size_t i = 0; i < MEASURES; i++)
		if (w->types & measures[i].type)
			TRY(add_types(&measures[i], w, p));
	p->time_ns = w->start_ns;
	p->duration_ns = w->duration_ns;
	TRY(names_begin(n, p->dict, c));
	TRY(tell_locks(c, n, p->dict));
	vec_for_each (one, &c->list) {
		struct label_list labels = {.dict = p->dict};

		if (!wanted_at_all(one, w->types))
			continue;
		TRY(labels_add_name(&labels, "process", one->sample.process->comm));
		TRY(labels_add_number(&labels, "process.pid", one->sample.process->pid));
		TRY(add_row(c, n, one, w, w->types, &labels, p));
	}
	return fold_rows(p);
}

/* ---- a profile per process and measure ---- */

/* Rows of one profile lie together after sorting. Processes that have ended count as one when they
 * were the same program: a thousand short ones must not make a thousand profiles. */
static int compare_processes(const struct process *a, const struct process *b)
{
	int order = str_cmp(a->facts.service, b->facts.service);

	if (!order)
		order = str_cmp(a->facts.program, b->facts.program);
	if (!order)
		order = str_cmp(a->facts.container, b->facts.container);
	if (!order)
		order = str_cmp(a->facts.attributes, b->facts.attributes);
	if (!order)
		order = str_cmp(a->facts.labels, b->facts.labels);
	if (order || (a->ended && b->ended))
		return order;
	if (!a->ended != !b->ended)
		return a->ended ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_rows(const void *x, const void *y)
{
	const struct collected *a = *(struct collected *const *)x;
	const struct collected *b = *(struct collected *const *)y;

	return compare_processes(a->sample.process, b->sample.process);
}

/* Its profile covers the time since the last one. Gauges are a moment's, and those that ended are
 * many in one profile. */
static int64_t begin_of(struct process *process, const struct measure *m, const struct window *w)
{
	unsigned i = (unsigned)(m - measures);

	if (process->ended || m->type == CAPTURE_THREADS)
		return w->start_ns;
	return watched_cover(&process->watched, i, w->since_ns[i], w->start_ns,
			     w->start_ns + w->duration_ns);
}

/* `process` may be NULL. */
static enum err begin_profile(struct process *process, const struct measure *m,
			      const struct window *w, uint32_t resource, struct dict *d,
			      struct profile_list *list, struct profile **ret)
{
	struct profile *p;

	TRY(profile_list_add(list, d, &p));
	TRY(add_types(m, w, p));
	p->time_ns = process ? begin_of(process, m, w) : w->start_ns;
	p->duration_ns = w->start_ns + w->duration_ns - p->time_ns;
	p->resource = resource;
	TRY(labels_of_limit(w, m->type & WAIT_TYPES ? process : NULL, d, &p->attributes));
	TRY(dict_text(d, "vestal", &p->scope_name));
	TRY(dict_text(d, VESTAL_VERSION, &p->scope_version));
	*ret = p;
	return ERR_OK;
}

static enum err begin_process(struct process *process, const struct measure *m,
			      const struct window *w, struct dict *d, struct profile_list *list,
			      struct profile **ret)
{
	uint32_t resource;

	TRY(labels_of_process(process, w->host, d, &resource));
	return begin_profile(process, m, w, resource, d, list, ret);
}

enum err window_add_empty(const struct window *w, const char *measure, struct process *process,
			  uint32_t resource, struct dict *d, struct profile_list *list)
{
	struct profile *p;

	for (size_t i = 0; i < MEASURES; i++)
		if (str_eq(str_of(measures[i].value_name), str_of(measure)))
			return begin_profile(process, &measures[i], w, resource, d, list, &p);
	return ERR_OK;
}

struct row_order {
	VEC(struct collected *) rows;
};

static enum err add_measure(const struct collector *c, struct names *n, const struct measure *m,
			    const struct window *w, const struct row_order *order, struct dict *d,
			    struct profile_list *list)
{
	struct collected **previous = NULL;
	struct profile *p = NULL;

	vec_for_each (row, &order->rows) {
		struct label_list labels = {.dict = d};

		if (!belongs(*row, m->type))
			continue;
		if (!previous || compare_rows(previous, row)) {
			if (p)
				TRY(fold_rows(p));
			TRY(begin_process((*row)->sample.process, m, w, d, list, &p));
		}
		previous = row;
		TRY(add_row(c, n, *row, w, m->type, &labels, p));
	}
	return p ? fold_rows(p) : ERR_OK;
}

struct resting {
	const struct window *window;
	struct dict *dict;
	struct profile_list *list;
};

/* A profile without samples of each measure that it had once. */
static enum err add_resting(void *context, struct process *process)
{
	const struct resting *r = context;
	const struct window *w = r->window;
	int64_t end = w->start_ns + w->duration_ns;
	struct profile *p;

	for (unsigned i = 0; i < MEASURES; i++)
		if (!process->ended && !process->unwanted &&
		    watched_rests(&process->watched, i, w->since_ns[i], end))
			TRY(begin_process(process, &measures[i], w, r->dict, r->list, &p));
	return ERR_OK;
}

enum err window_profiles(struct collector *c, struct names *n, const struct window *w,
			 struct dict *d, struct profile_list *ret)
{
	struct row_order order = {0};
	enum err e = names_begin(n, d, c);

	if (!e)
		e = tell_locks(c, n, d);
	vec_for_each (one, &c->list)
		if (!e)
			e = vec_push(&order.rows, one);
	if (!e && order.rows.n)
		qsort(order.rows.v, order.rows.n, sizeof(*order.rows.v), compare_rows);
	for (size_t i = 0; !e && i < MEASURES; i++)
		if (w->types & measures[i].type)
			e = add_measure(c, n, &measures[i], w, &order, d, ret);
	if (!e && w->processes)
		e = processes_each(w->processes, &(struct resting){w, d, ret}, add_resting);
	vec_release(&order.rows);
	return e;
}
