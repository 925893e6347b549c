/*
 * The events of a file of `perf script` text as profiles: what their columns are called, and how
 * long they lasted.
 */
#include "format/perf_script.h"

static bool is_clock(struct str event)
{
	return str_eq(event, STR("cpu-clock")) || str_eq(event, STR("task-clock"));
}

/* Until all are known, both columns are as for a file with one event. */
enum err perf_event_open(struct reading *out, struct perf_event *e)
{
	struct profile *p;

	TRY(profile_list_add(out->list, out->dict, &p));
	e->profile = p;
	if (e->has_period || !e->name.n)
		TRY(profile_add_type(p, STR("samples"), STR("count")));
	if (e->has_period || e->name.n)
		TRY(profile_add_type(p, STR("events"), STR("count")));
	return ERR_OK;
}

void perf_event_time(struct perf_event *e, uint64_t ns)
{
	if (!e->timed || ns < e->first_ns)
		e->first_ns = ns;
	if (!e->timed || ns > e->last_ns)
		e->last_ns = ns;
	e->backward += e->timed && ns < e->last_seen_ns;
	if (__builtin_add_overflow(e->sum_ns, ns, &e->sum_ns))
		e->sum_ns = UINT64_MAX;
	e->last_seen_ns = ns;
	e->timed = true;
}

/* The event that gets the name without suffix: preferably a clock. */
static size_t first_of(const struct perf_event *events, size_t n)
{
	static const char *const known[] = {"cpu-clock", "task-clock", "cpu-cycles", "cycles"};

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		for (size_t i = 0; i < n; i++)
			if (str_eq(perf_event_name(events[i].name), str_of(known[k])))
				return i;
	return 0;
}

/* Without its modifiers, unless another event differs by them alone. */
static struct str short_name(const struct perf_event *events, size_t n, size_t at)
{
	struct str name = perf_event_name(events[at].name);

	for (size_t i = 0; i < n; i++)
		if (i != at && str_eq(perf_event_name(events[i].name), name))
			return events[at].name;
	return name;
}

static enum err name_columns(struct reading *out, const struct perf_event *events, size_t n,
			     size_t at, bool first)
{
	const struct perf_event *e = &events[at];
	struct profile *p = e->profile;
	struct str name = short_name(events, n, at);
	bool clock = is_clock(perf_event_name(e->name)) && e->has_period;
	uint32_t last = p->type_count - 1;
	CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)out->limits.max_string + 16);

	if (!e->name.n && !e->has_period)
		return ERR_OK;
	/* Samples of different events do not add up. */
	if (last && !first) {
		buf_printf(&text, "%.*s_samples", (int)name.n, name.p);
		TRY(buf_error(&text));
		TRY(text_intern(out, buf_view(&text), &p->types[0].type));
	}
	if (clock && first)
		name = STR("cpu");
	if (name.n)
		TRY(text_intern(out, name, &p->types[last].type));
	if (clock)
		TRY(dict_text(out->dict, "nanoseconds", &p->types[last].unit));
	if (e->has_period)
		p->period_type = p->types[last];
	return ERR_OK;
}

/*
 * Times of --deltatime are differences between all samples, whatever their event: they run backward
 * again and again, and their sum is how long it took.
 */
static bool times_are_differences(const struct perf_event *events, size_t n, uint64_t *ret_sum)
{
	uint64_t rows = 0, backward = 0;

	*ret_sum = 0;
	for (size_t i = 0; i < n; i++) {
		rows += events[i].profile->row_count;
		backward += events[i].backward;
		if (__builtin_add_overflow(*ret_sum, events[i].sum_ns, ret_sum))
			*ret_sum = UINT64_MAX;
	}
	return backward > rows / 16 + 1;
}

enum err perf_events_finish(struct reading *out, struct perf_event *events, size_t n)
{
	size_t first = first_of(events, n);
	uint64_t sum, span;
	bool differences = times_are_differences(events, n, &sum);

	for (size_t i = 0; i < n; i++) {
		TRY(name_columns(out, events, n, i, i == first));
		span = differences ? sum : events[i].last_ns - events[i].first_ns;
		if (events[i].timed && span <= INT64_MAX)
			events[i].profile->duration_ns = (int64_t)span;
	}
	return ERR_OK;
}
