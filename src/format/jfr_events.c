/*
 * Events to rows. One table says which events are wanted, which profile they go to, and which field
 * is their value; all others are stepped over by their size.
 *
 * What the values mean:
 *	samples taken by a timer	1 and the interval the recording's settings tell
 *(jfr_settings.c) jdk.CPUTimeSample		1 and the period the event itself tells allocation
 *in a new TLAB	1 and the size of the buffer the object opened, which stands for all that is
 *allocated in it
 *	other allocations		1 and the size, or the weight the JDK's throttle gave the
 *sample waiting				1 and how long it took jdk.NativeMethodSample is
 *kept apart from cpu: the JDK samples threads in native code whether they run or wait in a system
 *call.
 */
#include "format/jfr.h"

#include <stdio.h>

#define ASSUMED_INTERVAL_NS 20000000
#define DIRECT_TYPES	    8192
#define MAX_LABELS	    8

enum measure {
	MEASURE_INTERVAL,
	MEASURE_WALL,
	MEASURE_PERIOD,
	MEASURE_AMOUNT,
	MEASURE_DURATION,
	MEASURE_COUNT,
	MEASURE_LOST
};

struct rule {
	const char *event;
	enum jfr_family family;
	enum measure measure;
	const char *amount; /* the field that holds it */
};

static const struct rule rules[] = {
	{"jdk.ExecutionSample", JFR_FAMILY_EXECUTION, MEASURE_INTERVAL, ""},
	{"jdk.CPUTimeSample", JFR_FAMILY_CPU_TIME, MEASURE_PERIOD, "samplingPeriod"},
	{"profiler.WallClockSample", JFR_FAMILY_WALL, MEASURE_WALL, "samples"},
	{"jdk.NativeMethodSample", JFR_FAMILY_NATIVE, MEASURE_INTERVAL, ""},
	{"jdk.ObjectAllocationSample", JFR_FAMILY_ALLOC_SAMPLE, MEASURE_AMOUNT, "weight"},
	{"jdk.ObjectAllocationInNewTLAB", JFR_FAMILY_ALLOC_TLAB, MEASURE_AMOUNT, "tlabSize"},
	{"jdk.ObjectAllocationOutsideTLAB", JFR_FAMILY_ALLOC_OUTSIDE, MEASURE_AMOUNT,
	 "allocationSize"},
	{"profiler.LiveObject", JFR_FAMILY_LIVE, MEASURE_AMOUNT, "allocationSize"},
	{"profiler.Malloc", JFR_FAMILY_MALLOC, MEASURE_AMOUNT, "size"},
	{"jdk.JavaMonitorEnter", JFR_FAMILY_LOCK, MEASURE_DURATION, ""},
	{"jdk.ThreadPark", JFR_FAMILY_BLOCK, MEASURE_DURATION, ""},
	{"jdk.JavaExceptionThrow", JFR_FAMILY_EXCEPTIONS, MEASURE_COUNT, ""},
	{"jdk.JavaErrorThrow", JFR_FAMILY_EXCEPTIONS, MEASURE_COUNT, ""},
	{"jdk.MethodTrace", JFR_FAMILY_METHOD_TRACE, MEASURE_DURATION, ""},
	{"profiler.MethodTrace", JFR_FAMILY_METHOD_TRACE, MEASURE_DURATION, ""},
	{"jdk.CPUTimeSamplesLost", JFR_FAMILY_COUNT_, MEASURE_LOST, "lostSamples"},
};

#define RULE_COUNT (sizeof(rules) / sizeof(rules[0]))

enum {
	SLOT_START,
	SLOT_DURATION,
	SLOT_THREAD,
	SLOT_STACK,
	SLOT_STATE,
	SLOT_CLASS,
	SLOT_AMOUNT,
	SLOT_CONTEXT,
	SLOT_SPAN_ID,
	SLOT_SPAN_NAME,
	SLOT_TRACE_HIGH,
	SLOT_TRACE_LOW,
	SLOT_COUNT_
};

static const char *const event_fields[SLOT_COUNT_ + 1] = {
	[SLOT_START] = "startTime",
	[SLOT_DURATION] = "duration",
	[SLOT_THREAD] = "sampledThread eventThread",
	[SLOT_STACK] = "stackTrace",
	[SLOT_STATE] = "state",
	[SLOT_CLASS] = "objectClass monitorClass parkedClass thrownClass",
	[SLOT_AMOUNT] = "",
	[SLOT_CONTEXT] = "contextId",
	[SLOT_SPAN_ID] = "spanId",
	[SLOT_SPAN_NAME] = "spanName",
	[SLOT_TRACE_HIGH] = "traceIdHi",
	[SLOT_TRACE_LOW] = "traceIdLo",
};

struct family {
	const char *count, *value, *unit; /* value NULL: only the count */
	const char *period, *period_unit;
};

static const struct family family_types[JFR_FAMILY_COUNT_] = {
	[JFR_FAMILY_EXECUTION] = {"samples", "cpu", "nanoseconds", "cpu", "nanoseconds"},
	[JFR_FAMILY_CPU_TIME] = {"samples", "cpu", "nanoseconds", "cpu", "nanoseconds"},
	[JFR_FAMILY_WALL] = {"wall_samples", "wall", "nanoseconds", "wall", "nanoseconds"},
	[JFR_FAMILY_NATIVE] = {"native_samples", "native", "nanoseconds", "native", "nanoseconds"},
	[JFR_FAMILY_ALLOC_SAMPLE] = {"alloc_sample_objects", "alloc_sample_bytes", "bytes", "space",
				     "bytes"},
	[JFR_FAMILY_ALLOC_TLAB] = {"alloc_in_new_tlab_objects", "alloc_in_new_tlab_bytes", "bytes",
				   "space", "bytes"},
	[JFR_FAMILY_ALLOC_OUTSIDE] = {"alloc_outside_tlab_objects", "alloc_outside_tlab_bytes",
				      "bytes", "space", "bytes"},
	[JFR_FAMILY_LIVE] = {"live", "live_space", "bytes", "objects", "count"},
	[JFR_FAMILY_MALLOC] = {"malloc_objects", "malloc_bytes", "bytes", "space", "bytes"},
	[JFR_FAMILY_LOCK] = {"contentions", "delay", "nanoseconds", "contentions", "count"},
	[JFR_FAMILY_BLOCK] = {"block_contentions", "block_delay", "nanoseconds", "contentions",
			      "count"},
	[JFR_FAMILY_EXCEPTIONS] = {"exceptions", NULL, NULL, NULL, NULL},
	[JFR_FAMILY_METHOD_TRACE] = {"method_calls", "method_time", "nanoseconds", NULL, NULL},
};

/* Which types of a chunk are wanted, and how each is read. */
struct wanted {
	struct jfr_plan plans[RULE_COUNT];
	uint64_t ids[RULE_COUNT];
	uint8_t direct[DIRECT_TYPES]; /* rule + 1 of small type ids: all real ones are */
};

static enum err make_wanted(struct jfr_chunk *k, struct wanted *w)
{
	for (uint32_t i = 0; i < k->classes.n; i++) {
		const struct jfr_class *class = &k->classes.v[i];
		const char *names[SLOT_COUNT_ + 1];

		for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
			if (w->plans[rule].steps.n ||
			    !str_eq(str_of(rules[rule].event), class->name))
				continue;
			memcpy(names, event_fields, sizeof(names));
			names[SLOT_AMOUNT] = rules[rule].amount;
			TRY(jfr_plan_make(k, i, names, &w->plans[rule]));
			w->ids[rule] = class->id;
			if (class->id < DIRECT_TYPES && w->plans[rule].class != JFR_NO_CLASS)
				w->direct[class->id] = (uint8_t)(rule + 1);
		}
	}
	return ERR_OK;
}

static int wanted_rule(const struct wanted *w, uint64_t type)
{
	if (type < DIRECT_TYPES)
		return (int)w->direct[type] - 1;
	for (unsigned rule = 0; rule < RULE_COUNT; rule++)
		if (w->ids[rule] == type && w->plans[rule].steps.n)
			return (int)rule;
	return -1;
}

static enum err family_profile(struct jfr_reader *r, enum jfr_family family, struct profile **ret)
{
	const struct family *t = &family_types[family];
	struct profile *p = &r->families[family];
	struct dict *d = r->out->dict;

	*ret = p;
	if (p->type_count)
		return ERR_OK;
	TRY(profile_add_type(p, str_of(t->count), STR("count")));
	if (family == JFR_FAMILY_EXECUTION && r->settings.counter[0]) {
		TRY(profile_add_type(p, str_of(r->settings.counter), STR("count")));
		p->period = r->settings.counter_interval;
		p->period_type = p->types[1];
		return ERR_OK;
	}
	if (t->value)
		TRY(profile_add_type(p, str_of(t->value), str_of(t->unit)));
	if (t->period) {
		TRY(dict_text(d, t->period, &p->period_type.type));
		TRY(dict_text(d, t->period_unit, &p->period_type.unit));
	}
	return ERR_OK;
}

static int64_t interval_of(struct jfr_reader *r, enum jfr_family family)
{
	const struct jfr_settings *s = &r->settings;
	int64_t ns = s->execution_ns;

	if (family == JFR_FAMILY_EXECUTION && s->counter[0])
		return s->counter_interval;
	if (family == JFR_FAMILY_NATIVE)
		ns = s->native_ns;
	if (family == JFR_FAMILY_WALL)
		ns = s->wall_ns;
	if (ns > 0)
		return ns;
	r->assumed_interval = true;
	return ASSUMED_INTERVAL_NS;
}

static int64_t amount_of(const struct jfr_value *slots)
{
	int64_t amount = (int64_t)slots[SLOT_AMOUNT].number;

	return slots[SLOT_AMOUNT].kind == JFR_NUMBER && amount > 0 ? amount : 0;
}

static void measure(struct jfr_reader *r, const struct rule *rule, enum jfr_family family,
		    const struct jfr_value *slots, int64_t *values)
{
	values[0] = 1;
	values[1] = 0;
	switch (rule->measure) {
	case MEASURE_WALL:
		values[0] = amount_of(slots) ? amount_of(slots) : 1;
		if (__builtin_mul_overflow(values[0], interval_of(r, family), &values[1]))
			values[1] = INT64_MAX;
		break;
	case MEASURE_INTERVAL:
		values[1] = interval_of(r, family);
		break;
	case MEASURE_PERIOD:
		values[1] = jfr_span_ns(r->chunk, &slots[SLOT_AMOUNT]);
		break;
	case MEASURE_AMOUNT:
		values[1] = amount_of(slots);
		break;
	case MEASURE_DURATION:
		values[1] = jfr_span_ns(r->chunk, &slots[SLOT_DURATION]);
		break;
	default:
		break;
	}
}

static void put_be64(uint8_t *out, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		out[i] = (uint8_t)(v >> (56 - 8 * i));
}

static enum err add_number(struct jfr_reader *r, const char *key, const struct jfr_value *v,
			   uint32_t *labels, uint32_t *n)
{
	struct label l = {.type = LABEL_INT, .value = (int64_t)v->number};

	if (v->kind != JFR_NUMBER || !v->number)
		return ERR_OK;
	TRY(dict_text(r->out->dict, key, &l.key));
	return dict_label(r->out->dict, &l, &labels[(*n)++]);
}

/*
 * The span a sample was taken in. With a trace id it is a link; Pyroscope's agent for Java knows
 * only the span, which is then a label, and names spans and contexts by numbers whose meaning is
 * sent beside the recording.
 */
static enum err span_context(struct jfr_reader *r, const struct jfr_value *slots, uint32_t *labels,
			     uint32_t *n, uint32_t *ret_link)
{
	struct link link = {0};
	char hex[17];
	struct str name;

	TRY(add_number(r, "contextId", &slots[SLOT_CONTEXT], labels, n));
	if (slots[SLOT_SPAN_NAME].kind == JFR_NUMBER) {
		TRY(add_number(r, "spanName", &slots[SLOT_SPAN_NAME], labels, n));
	} else if (slots[SLOT_SPAN_NAME].kind) {
		TRY(jfr_text(r, &slots[SLOT_SPAN_NAME], &name));
		if (name.n)
			TRY(dict_label_text(r->out->dict, STR("span_name"), name, &labels[(*n)++]));
	}
	if (slots[SLOT_SPAN_ID].kind != JFR_NUMBER || !slots[SLOT_SPAN_ID].number)
		return ERR_OK;
	if (slots[SLOT_TRACE_HIGH].number || slots[SLOT_TRACE_LOW].number) {
		put_be64(link.trace_id, slots[SLOT_TRACE_HIGH].number);
		put_be64(link.trace_id + 8, slots[SLOT_TRACE_LOW].number);
		put_be64(link.span_id, slots[SLOT_SPAN_ID].number);
		return dict_link(r->out->dict, &link, ret_link);
	}
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)slots[SLOT_SPAN_ID].number);
	return dict_label_text(r->out->dict, STR("span_id"), str_n(hex, 16), &labels[(*n)++]);
}

static enum err row_context(struct jfr_reader *r, const struct jfr_value *slots, struct row *row)
{
	uint32_t labels[MAX_LABELS], n = 0, name, id, state, class;

	TRY(jfr_thread_labels(r, &slots[SLOT_THREAD], &name, &id));
	TRY(jfr_state_label(r, &slots[SLOT_STATE], &state));
	TRY(jfr_class_label(r, &slots[SLOT_CLASS], &class));
	if (name)
		labels[n++] = name;
	if (id)
		labels[n++] = id;
	if (state)
		labels[n++] = state;
	if (class)
		labels[n++] = class;
	TRY(span_context(r, slots, labels, &n, &row->link));
	return dict_label_set(r->out->dict, labels, n, &row->labels);
}

static enum err add_row(struct jfr_reader *r, const struct rule *rule,
			const struct jfr_value *slots)
{
	enum jfr_family family = rule->family;
	struct row row = {0};
	struct profile *p;
	int64_t values[2];

	if (rule->measure == MEASURE_LOST) {
		r->lost_samples += (uint64_t)amount_of(slots);
		return ERR_OK;
	}
	if (family == JFR_FAMILY_EXECUTION && r->settings.wall_only)
		family = JFR_FAMILY_WALL;
	if (++r->rows > r->out->limits.max_samples)
		return fault_set(&r->out->fault, ERR_TOO_LARGE,
				 "the recording has more than %llu samples",
				 (unsigned long long)r->out->limits.max_samples);
	TRY(family_profile(r, family, &p));
	TRY(jfr_stack_id(r, &slots[SLOT_STACK], &row.stack));
	TRY(row_context(r, slots, &row));
	row.time = (uint64_t)jfr_time_ns(r->chunk, &slots[SLOT_START]);
	measure(r, rule, family, slots, values);
	if (rule->measure <= MEASURE_PERIOD)
		p->period = rule->measure == MEASURE_WALL ? interval_of(r, family) : values[1];
	return profile_add(p, &row, values);
}

static enum err read_wanted(struct jfr_reader *r, const struct wanted *w)
{
	struct jfr_chunk *k = r->chunk;
	uint64_t at = JFR_HEADER_SIZE, begin = at, type;
	struct jfr_cursor c;

	for (; jfr_next_event(k, &at, &c, &type); begin = at) {
		struct jfr_value slots[SLOT_COUNT_] = {0};
		int rule = wanted_rule(w, type);

		if (rule < 0)
			continue;
		jfr_read_fields(k, &c, &w->plans[rule], slots);
		if (c.failed)
			return fault_set(&r->out->fault, ERR_CORRUPT,
					 "the event %s at byte %llu is shorter than the fields its "
					 "metadata describes",
					 rules[rule].event,
					 (unsigned long long)(k->file_offset + begin));
		TRY(add_row(r, &rules[rule], slots));
	}
	if (begin < k->size)
		return fault_set(&r->out->fault, ERR_CORRUPT,
				 "the JFR event at byte %llu has a size that is 0 or leads out of "
				 "its chunk",
				 (unsigned long long)(k->file_offset + begin));
	return ERR_OK;
}

enum err jfr_events_read(struct jfr_reader *r)
{
	struct wanted *w = mem_zalloc(1, sizeof(*w));
	enum err e;

	if (!w)
		return ERR_NO_MEMORY;
	e = make_wanted(r->chunk, w);
	if (!e)
		e = read_wanted(r, w);
	for (unsigned i = 0; i < RULE_COUNT; i++)
		vec_release(&w->plans[i].steps);
	mem_free(w);
	return e;
}

/* Two profilers of processor time in one recording: the exact one keeps the name. */
static enum err rename_execution(struct jfr_reader *r)
{
	struct profile *p = &r->families[JFR_FAMILY_EXECUTION];

	if (!p->row_count || !r->families[JFR_FAMILY_CPU_TIME].row_count)
		return ERR_OK;
	notes_add(&r->out->notes, "jdk.CPUTimeSample is shown as cpu; jdk.ExecutionSample, which "
				  "covers the same time, as execution");
	TRY(dict_text(r->out->dict, "execution_samples", &p->types[0].type));
	return dict_text(r->out->dict, "execution", &p->types[1].type);
}

enum err jfr_families_finish(struct jfr_reader *r)
{
	struct profile *p;
	bool any = false;

	TRY(rename_execution(r));
	for (unsigned i = 0; i < JFR_FAMILY_COUNT_; i++)
		any |= r->families[i].row_count != 0;
	if (!any) {
		notes_add(&r->out->notes, "the recording has none of the events that are read");
		TRY(family_profile(r, JFR_FAMILY_EXECUTION, &p));
	}
	for (unsigned i = 0; i < JFR_FAMILY_COUNT_; i++) {
		struct profile *family = &r->families[i];

		if (!family->type_count)
			continue;
		family->time_ns = r->first_ns;
		family->duration_ns = r->last_ns - r->first_ns;
		TRY(profile_list_add(r->out->list, r->out->dict, &p));
		*p = *family;
		profile_init(family, r->out->dict);
	}
	return ERR_OK;
}
