/*
 * The wanted events to rows. A row has a count of 1 and a value:
 * - of samples taken by a timer, the interval the recording's settings tell (jfr_settings.c);
 * - of jdk.CPUTimeSample, the period the event itself tells;
 * - of an allocation in a new TLAB, the size of the buffer the object opened, which stands for all
 *   that is allocated in it; of others the size, or the weight the JDK's throttle gave the sample;
 * - of waiting, how long it took.
 *
 * async-profiler takes one sample each N bytes of malloc, or ns of waiting; one that is smaller
 * than N stands for as many of its size as make N, one that is larger for itself. The same holds
 * for live objects, which it picks as they are allocated.
 *
 * jdk.ExecutionSample is CPU time of a thread that ran. async-profiler 3 with wall=, and 4 with
 * nobatch, write samples of both clocks as this event: those of the CPU have no state
 * (STATE_DEFAULT), those of the wall clock have one. Version 2 writes STATE_RUNNABLE for both, but
 * has only one clock at a time.
 *
 * jdk.NativeMethodSample is kept apart from cpu: the JDK samples threads in native code whether
 * they run or wait in a system call.
 */
#include "format/jfr.h"

#include <stdio.h>

#define ASSUMED_INTERVAL_NS 20000000
#define MAX_LABELS	    8

struct family {
	const char *count, *value, *unit; /* value NULL: only the count */
	const char *period, *period_unit;
};

static const struct family family_types[JFR_FAMILY_COUNT_] = {
	[JFR_FAMILY_EXECUTION] = {"samples", "cpu", "nanoseconds", "cpu", "nanoseconds"},
	[JFR_FAMILY_COUNTER] = {"samples", NULL, NULL, NULL, NULL},
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

static enum err family_profile(struct jfr_reader *r, enum jfr_family family, struct profile **ret)
{
	const struct family *t = &family_types[family];
	struct profile *p = &r->families[family];
	struct dict *d = r->out->dict;

	*ret = p;
	if (p->type_count && family == JFR_FAMILY_COUNTER &&
	    !str_eq(dict_str(d, p->types[1].type), str_of(r->settings.counter)))
		return fault_set(&r->out->fault, ERR_UNSUPPORTED,
				 "the recording counts %.*s and, in another chunk, %s",
				 (int)dict_str(d, p->types[1].type).n,
				 dict_str(d, p->types[1].type).p, r->settings.counter);
	if (p->type_count)
		return ERR_OK;
	TRY(profile_add_type(p, str_of(t->count), STR("count")));
	if (family == JFR_FAMILY_COUNTER) {
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

	if (family == JFR_FAMILY_COUNTER)
		return s->counter_interval;
	if (family == JFR_FAMILY_NATIVE)
		ns = s->native_ns;
	if (family == JFR_FAMILY_WALL)
		ns = s->wall_ns ? s->wall_ns : s->execution_ns;
	if (ns > 0)
		return ns;
	r->assumed_interval = true;
	return ASSUMED_INTERVAL_NS;
}

static int64_t amount_of(const struct jfr_value *slots)
{
	int64_t amount = (int64_t)slots[JFR_EVENT_AMOUNT].number;

	return slots[JFR_EVENT_AMOUNT].kind == JFR_NUMBER && amount > 0 ? amount : 0;
}

/* A sample taken by amount counts for at least one step. */
static void weigh(int64_t step, int64_t *values)
{
	int64_t amount = values[1];

	if (amount <= 0 || amount >= step)
		return;
	values[0] = (step + amount / 2) / amount;
	values[1] = step;
}

static int64_t step_of(const struct jfr_settings *s, enum jfr_family family)
{
	switch (family) {
	case JFR_FAMILY_MALLOC:
		return s->malloc_step;
	case JFR_FAMILY_LIVE:
		return s->alloc_step;
	case JFR_FAMILY_LOCK:
	case JFR_FAMILY_BLOCK:
		return s->lock_step;
	default:
		return 0;
	}
}

static void measure(struct jfr_reader *r, const struct jfr_rule *rule, enum jfr_family family,
		    const struct jfr_value *slots, int64_t *values)
{
	values[0] = 1;
	values[1] = 0;
	switch (rule->measure) {
	case JFR_MEASURE_WALL:
		values[0] = amount_of(slots) ? amount_of(slots) : 1;
		if (__builtin_mul_overflow(values[0], interval_of(r, family), &values[1]))
			values[1] = INT64_MAX;
		break;
	case JFR_MEASURE_INTERVAL:
		values[1] = interval_of(r, family);
		break;
	case JFR_MEASURE_PERIOD:
		values[1] = jfr_span_ns(r->chunk, &slots[JFR_EVENT_AMOUNT]);
		break;
	case JFR_MEASURE_AMOUNT:
		values[1] = amount_of(slots);
		break;
	case JFR_MEASURE_DURATION:
		values[1] = jfr_span_ns(r->chunk, &slots[JFR_EVENT_DURATION]);
		break;
	default:
		break;
	}
	weigh(step_of(&r->settings, family), values);
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

	TRY(add_number(r, "contextId", &slots[JFR_EVENT_CONTEXT], labels, n));
	if (slots[JFR_EVENT_SPAN_NAME].kind == JFR_NUMBER) {
		TRY(add_number(r, "spanName", &slots[JFR_EVENT_SPAN_NAME], labels, n));
	} else if (slots[JFR_EVENT_SPAN_NAME].kind) {
		TRY(jfr_text(r, &slots[JFR_EVENT_SPAN_NAME], &name));
		if (name.n)
			TRY(dict_label_text(r->out->dict, STR("span_name"), name, &labels[(*n)++]));
	}
	if (slots[JFR_EVENT_SPAN_ID].kind != JFR_NUMBER || !slots[JFR_EVENT_SPAN_ID].number)
		return ERR_OK;
	if (slots[JFR_EVENT_TRACE_HIGH].number || slots[JFR_EVENT_TRACE_LOW].number) {
		put_be64(link.trace_id, slots[JFR_EVENT_TRACE_HIGH].number);
		put_be64(link.trace_id + 8, slots[JFR_EVENT_TRACE_LOW].number);
		put_be64(link.span_id, slots[JFR_EVENT_SPAN_ID].number);
		return dict_link(r->out->dict, &link, ret_link);
	}
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)slots[JFR_EVENT_SPAN_ID].number);
	return dict_label_text(r->out->dict, STR("span_id"), str_n(hex, 16), &labels[(*n)++]);
}

static enum err row_context(struct jfr_reader *r, const struct jfr_value *slots, uint32_t state,
			    struct row *row)
{
	uint32_t labels[MAX_LABELS], n = 0, name, id, class;

	TRY(jfr_thread_labels(r, &slots[JFR_EVENT_THREAD], &name, &id));
	TRY(jfr_class_label(r, &slots[JFR_EVENT_CLASS], &class));
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

/* The family of all events of a rule, as far as that is known without their states. */
static enum jfr_family family_of_rule(const struct jfr_reader *r, const struct jfr_rule *rule)
{
	if (rule->family != JFR_FAMILY_EXECUTION)
		return rule->family;
	if (r->settings.wall_only)
		return JFR_FAMILY_WALL;
	return r->settings.counter[0] ? JFR_FAMILY_COUNTER : JFR_FAMILY_EXECUTION;
}

static enum jfr_family family_of(const struct jfr_reader *r, const struct jfr_rule *rule,
				 uint32_t state_label)
{
	enum jfr_family family = family_of_rule(r, rule);
	enum jfr_state state;

	if (family != JFR_FAMILY_EXECUTION && family != JFR_FAMILY_COUNTER)
		return family;
	state = jfr_state_of(r, state_label);
	if (state == JFR_STATE_BLOCKED || (state == JFR_STATE_RUNNING && r->settings.wall_beside))
		return JFR_FAMILY_WALL;
	return family;
}

/* Rows of which there are none, losses, are wanted in any case. */
static bool family_is_wanted(const struct jfr_reader *r, enum jfr_family family)
{
	return r->only == JFR_FAMILY_COUNT_ || family == r->only || family == JFR_FAMILY_COUNT_;
}

static enum err add_row(struct jfr_reader *r, const struct jfr_rule *rule,
			const struct jfr_value *slots)
{
	enum jfr_family family;
	struct row row = {0};
	struct profile *p;
	int64_t values[2];
	uint32_t state;

	if (rule->measure == JFR_MEASURE_LOST) {
		r->lost_samples += (uint64_t)amount_of(slots);
		return ERR_OK;
	}
	TRY(jfr_state_label(r, &slots[JFR_EVENT_STATE], &state));
	family = family_of(r, rule, state);
	if (!family_is_wanted(r, family))
		return ERR_OK;
	if (++r->rows > r->out->limits.max_samples)
		return fault_set(&r->out->fault, ERR_TOO_LARGE,
				 "the recording has more than %llu samples",
				 (unsigned long long)r->out->limits.max_samples);
	TRY(family_profile(r, family, &p));
	TRY(jfr_stack_id(r, &slots[JFR_EVENT_STACK], &row.stack));
	TRY(row_context(r, slots, state, &row));
	row.time = (uint64_t)jfr_time_ns(r->chunk, &slots[JFR_EVENT_START]);
	measure(r, rule, family, slots, values);
	if (rule->measure == JFR_MEASURE_PERIOD)
		p->period = values[1];
	else if (rule->measure <= JFR_MEASURE_WALL)
		p->period = interval_of(r, family);
	return profile_add(p, &row, values);
}

/*
 * When only what is shown first is asked for, that is the first family there are events of; what
 * was read of later ones before it came is dropped. So much is sure of samples taken by a timer:
 * values of others may all be 0, and then there is something to say about the rest.
 */
static void choose_families(struct jfr_reader *r)
{
	const uint32_t execution = 1u << JFR_FAMILY_EXECUTION, counter = 1u << JFR_FAMILY_COUNTER;
	uint32_t present = r->chunk->families;

	if (present & execution && r->settings.wall_only)
		present = (present & ~execution) | 1u << JFR_FAMILY_WALL;
	else if (present & execution && r->settings.counter[0])
		present = (present & ~execution) | counter;
	r->present |= present;
	if (!r->out->first_type_only || !r->present)
		return;
	r->only = (enum jfr_family)__builtin_ctz(r->present);
	if (r->only > JFR_FAMILY_NATIVE ||
	    (r->settings.wall_beside && r->present & (execution | counter)))
		r->only = JFR_FAMILY_COUNT_;
}

static enum err read_event(struct jfr_reader *r, uint64_t at, const struct jfr_rule *rule,
			   const struct jfr_plan *plan)
{
	struct jfr_value slots[JFR_EVENT_SLOTS_] = {0};
	uint64_t next = at, type;
	struct jfr_cursor c;

	if (!jfr_next_event(r->chunk, &next, &c, &type))
		return ERR_INTERNAL;
	jfr_read_fields(r->chunk, &c, plan, slots);
	if (c.failed)
		return fault_set(&r->out->fault, ERR_CORRUPT,
				 "the event %s at byte %llu is shorter than the fields its "
				 "metadata describes",
				 rule->event, (unsigned long long)(r->chunk->file_offset + at));
	return add_row(r, rule, slots);
}

enum err jfr_events_read(struct jfr_reader *r)
{
	const struct jfr_chunk *k = r->chunk;

	choose_families(r);
	vec_for_each (event, &k->events) {
		const struct jfr_rule *rule = &jfr_rules[*event & 0xff];

		if (family_is_wanted(r, family_of_rule(r, rule)))
			TRY(read_event(r, *event >> 8, rule, &k->event_plans[*event & 0xff]));
	}
	if (k->walked < k->size)
		return fault_set(&r->out->fault, ERR_CORRUPT,
				 "the JFR event at byte %llu has a size that is 0 or leads out of "
				 "its chunk",
				 (unsigned long long)(k->file_offset + k->walked));
	return ERR_OK;
}

/* Two profilers of CPU time in one recording: the exact one keeps the name. */
static enum err rename_execution(struct jfr_reader *r)
{
	const uint32_t both = 1u << JFR_FAMILY_CPU_TIME | 1u << JFR_FAMILY_EXECUTION;
	struct profile *p = &r->families[JFR_FAMILY_EXECUTION];

	if ((r->present & both) != both || !p->type_count)
		return ERR_OK;
	notes_add(&r->out->notes, "jdk.CPUTimeSample is shown as cpu; jdk.ExecutionSample, which "
				  "covers the same time, as execution");
	TRY(dict_text(r->out->dict, "execution_samples", &p->types[0].type));
	return dict_text(r->out->dict, "execution", &p->types[1].type);
}

/* Samples of a hardware event must not be added to those of a clock in another chunk. */
static enum err rename_counter(struct jfr_reader *r)
{
	const uint32_t clocks = 1u << JFR_FAMILY_CPU_TIME | 1u << JFR_FAMILY_EXECUTION;
	struct profile *p = &r->families[JFR_FAMILY_COUNTER];
	char name[sizeof(r->settings.counter) + 16];
	struct str event;

	if (!(r->present & clocks) || !p->type_count)
		return ERR_OK;
	event = dict_str(r->out->dict, p->types[1].type);
	snprintf(name, sizeof(name), "%.*s_samples", (int)event.n, event.p);
	return dict_text(r->out->dict, name, &p->types[0].type);
}

enum err jfr_families_finish(struct jfr_reader *r)
{
	struct profile *p;

	TRY(rename_execution(r));
	TRY(rename_counter(r));
	if (!r->present) {
		notes_add(&r->out->notes, "the recording has none of the events that are read");
		TRY(family_profile(r, JFR_FAMILY_EXECUTION, &p));
	}
	for (unsigned i = 0; i < JFR_FAMILY_COUNT_; i++) {
		struct profile *family = &r->families[i];

		if (!family->type_count || !family_is_wanted(r, i))
			continue;
		family->time_ns = r->first_ns;
		family->duration_ns = r->last_ns - r->first_ns;
		TRY(profile_list_add(r->out->list, r->out->dict, &p));
		*p = *family;
		profile_init(family, r->out->dict);
	}
	return ERR_OK;
}
