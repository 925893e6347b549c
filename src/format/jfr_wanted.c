/*
 * Which events are wanted, which profile they go to, and which field is their value: one table. All
 * others are stepped over by their size, in one walk over the chunk that only notes where the
 * wanted ones begin. So it is known what a chunk has before anything of it is read.
 */
#include "format/jfr.h"

#define DIRECT_TYPES 8192

const struct jfr_rule jfr_rules[JFR_RULE_COUNT] = {
	{"jdk.ExecutionSample", JFR_FAMILY_EXECUTION, JFR_MEASURE_INTERVAL, ""},
	{"jdk.CPUTimeSample", JFR_FAMILY_CPU_TIME, JFR_MEASURE_PERIOD, "samplingPeriod"},
	{"profiler.WallClockSample", JFR_FAMILY_WALL, JFR_MEASURE_WALL, "samples"},
	{"jdk.NativeMethodSample", JFR_FAMILY_NATIVE, JFR_MEASURE_INTERVAL, ""},
	{"jdk.ObjectAllocationSample", JFR_FAMILY_ALLOC_SAMPLE, JFR_MEASURE_AMOUNT, "weight"},
	{"jdk.ObjectAllocationInNewTLAB", JFR_FAMILY_ALLOC_TLAB, JFR_MEASURE_AMOUNT, "tlabSize"},
	{"jdk.ObjectAllocationOutsideTLAB", JFR_FAMILY_ALLOC_OUTSIDE, JFR_MEASURE_AMOUNT,
	 "allocationSize"},
	{"profiler.LiveObject", JFR_FAMILY_LIVE, JFR_MEASURE_AMOUNT, "allocationSize"},
	{"profiler.Malloc", JFR_FAMILY_MALLOC, JFR_MEASURE_AMOUNT, "size"},
	{"jdk.JavaMonitorEnter", JFR_FAMILY_LOCK, JFR_MEASURE_DURATION, ""},
	{"jdk.ThreadPark", JFR_FAMILY_BLOCK, JFR_MEASURE_DURATION, ""},
	{"jdk.JavaExceptionThrow", JFR_FAMILY_EXCEPTIONS, JFR_MEASURE_COUNT, ""},
	{"jdk.JavaErrorThrow", JFR_FAMILY_EXCEPTIONS, JFR_MEASURE_COUNT, ""},
	{"jdk.MethodTrace", JFR_FAMILY_METHOD_TRACE, JFR_MEASURE_DURATION, ""},
	{"profiler.MethodTrace", JFR_FAMILY_METHOD_TRACE, JFR_MEASURE_DURATION, ""},
	{"jdk.CPUTimeSamplesLost", JFR_FAMILY_COUNT_, JFR_MEASURE_LOST, "lostSamples"},
	[JFR_RULE_SETTING] = {"jdk.ActiveSetting", JFR_FAMILY_COUNT_, JFR_MEASURE_SETTING, ""},
};

static const char *const event_fields[JFR_EVENT_SLOTS_ + 1] = {
	[JFR_EVENT_START] = "startTime",
	[JFR_EVENT_DURATION] = "duration",
	[JFR_EVENT_THREAD] = "sampledThread eventThread",
	[JFR_EVENT_STACK] = "stackTrace",
	[JFR_EVENT_STATE] = "state",
	[JFR_EVENT_CLASS] = "objectClass monitorClass parkedClass thrownClass",
	[JFR_EVENT_AMOUNT] = "",
	[JFR_EVENT_CONTEXT] = "contextId",
	[JFR_EVENT_SPAN_ID] = "spanId",
	[JFR_EVENT_SPAN_NAME] = "spanName",
	[JFR_EVENT_TRACE_HIGH] = "traceIdHi",
	[JFR_EVENT_TRACE_LOW] = "traceIdLo",
};

static const char *const setting_fields[] = {
	[JFR_SETTING_EVENT] = "id",
	[JFR_SETTING_NAME] = "name",
	[JFR_SETTING_VALUE] = "value",
	NULL,
};

static enum err plan_rule(struct jfr_chunk *k, uint32_t class, unsigned rule)
{
	const char *names[JFR_EVENT_SLOTS_ + 1];

	if (rule == JFR_RULE_SETTING)
		return jfr_plan_make(k, class, setting_fields, &k->event_plans[rule]);
	memcpy(names, event_fields, sizeof(names));
	names[JFR_EVENT_AMOUNT] = jfr_rules[rule].amount;
	return jfr_plan_make(k, class, names, &k->event_plans[rule]);
}

static enum err plan_rules(struct jfr_chunk *k)
{
	for (unsigned rule = 0; rule < JFR_RULE_COUNT; rule++)
		k->event_plans[rule].class = JFR_NO_CLASS;
	for (uint32_t i = 0; i < k->classes.n; i++)
		for (unsigned rule = 0; rule < JFR_RULE_COUNT; rule++)
			if (!k->event_plans[rule].steps.n &&
			    str_eq(str_of(jfr_rules[rule].event), k->classes.v[i].name))
				TRY(plan_rule(k, i, rule));
	return ERR_OK;
}

/* Which rule is for a type: rule + 1 of the small type ids, which all real ones are. */
struct rule_index {
	uint8_t direct[DIRECT_TYPES];
	uint64_t ids[JFR_RULE_COUNT];
	bool used[JFR_RULE_COUNT];
};

static void index_rules(const struct jfr_chunk *k, struct rule_index *index)
{
	memset(index, 0, sizeof(*index));
	for (unsigned rule = 0; rule < JFR_RULE_COUNT; rule++) {
		uint32_t class = k->event_plans[rule].class;

		if (class == JFR_NO_CLASS || !k->event_plans[rule].steps.n)
			continue;
		index->ids[rule] = k->classes.v[class].id;
		index->used[rule] = true;
		if (index->ids[rule] < DIRECT_TYPES)
			index->direct[index->ids[rule]] = (uint8_t)(rule + 1);
	}
}

static int rule_of(const struct rule_index *index, uint64_t type)
{
	if (type < DIRECT_TYPES)
		return (int)index->direct[type] - 1;
	for (unsigned rule = 0; rule < JFR_RULE_COUNT; rule++)
		if (index->used[rule] && index->ids[rule] == type)
			return (int)rule;
	return -1;
}

enum err jfr_events_find(struct jfr_chunk *k)
{
	uint64_t at = JFR_HEADER_SIZE, type;
	struct rule_index index;
	struct jfr_cursor c;

	TRY(plan_rules(k));
	index_rules(k, &index);
	for (k->walked = at; jfr_next_event(k, &at, &c, &type); k->walked = at) {
		int rule = rule_of(&index, type);

		if (rule < 0)
			continue;
		if (jfr_rules[rule].family < JFR_FAMILY_COUNT_)
			k->families |= 1u << jfr_rules[rule].family;
		if (rule == JFR_RULE_SETTING)
			TRY(vec_push(&k->settings, k->walked));
		else
			TRY(vec_push(&k->events, k->walked << 8 | (unsigned)rule));
	}
	return ERR_OK;
}
