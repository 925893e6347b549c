/*
 * How often samples were taken: the events jdk.ActiveSetting (event type, name, value) of a chunk.
 *
 * The JDK says "period" = "20 ms" of jdk.ExecutionSample and jdk.NativeMethodSample.
 * async-profiler says "interval" and "wall" in nanoseconds of jdk.ExecutionSample, 0 for its
 * defaults (10 ms, 50 ms), and "event", "engine" of jdk.ActiveRecording. When its event is neither
 * a clock nor a timer, a sample stands for `interval` of these events instead of for time. What it
 * takes by amount is told by "alloc" of jdk.ObjectAllocationInNewTLAB, "nativemem" of
 * profiler.Malloc and "lock" of jdk.JavaMonitorEnter.
 */
#include "format/jfr.h"

#define MAX_TEXT      256
#define ASYNC_CPU_NS  10000000
#define ASYNC_WALL_NS 50000000
#define MAX_STEP      (INT64_C(1) << 60)

/* Settings are short; what is longer is none we know. */
static enum err short_text(struct jfr_reader *r, const struct jfr_value *v, struct str *ret)
{
	struct jfr_pool_entry *entry = NULL;
	struct jfr_cursor c;
	enum err e;

	*ret = STR("");
	if (v->kind == JFR_REF)
		entry = jfr_pool_find(r->chunk, JFR_KIND_STRING, v->number);
	if (v->kind != JFR_TEXT && !entry)
		return ERR_OK;
	c = jfr_at(r->chunk, entry ? entry->at : v->number);
	e = jfr_string(r->chunk, &c, MAX_TEXT, &r->scratch, ret);
	if (e)
		*ret = STR("");
	return e == ERR_NO_MEMORY ? e : ERR_OK;
}

/* "20 ms", "1 s"; "everyChunk" and the like are 0. */
static int64_t period_ns(struct str text)
{
	size_t digits = 0;
	int64_t n;
	double factor;

	while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
		digits++;
	if (str_to_i64(str_n(text.p, digits), &n) != ERR_OK || n > 86400000000000)
		return 0;
	text = str_trim(str_skip(text, digits));
	if (!text.n)
		return n;
	if (unit_kind(text, &factor) != UNIT_TIME || factor > 1e9)
		return 0;
	if ((double)n * factor > 86400e9)
		return 0;
	return n * (int64_t)factor;
}

static void async_event(struct jfr_settings *s, struct str event)
{
	static const char *const clocks[] = {"cpu",	  "itimer",	"ctimer",
					     "cpu-clock", "task-clock", "alloc",
					     "lock",	  "nativemem",	NULL};

	s->counter[0] = '\0';
	s->wall_only = str_eq(event, STR("wall"));
	if (!event.n || s->wall_only || event.n >= sizeof(s->counter))
		return;
	for (size_t i = 0; clocks[i]; i++)
		if (str_eq(str_of(clocks[i]), event))
			return;
	memcpy(s->counter, event.p, event.n);
	s->counter[event.n] = '\0';
}

static void execution_setting(struct jfr_settings *s, struct str name, struct str value)
{
	int64_t ns = period_ns(value);

	if (str_eq(name, STR("period")) && ns)
		s->execution_ns = ns;
	if (str_eq(name, STR("interval"))) {
		s->async_profiler = true;
		s->counter_interval = s->execution_ns = ns;
	}
	if (str_eq(name, STR("wall"))) {
		s->async_profiler = s->wall_beside = true;
		s->wall_ns = ns ? ns : ASYNC_WALL_NS;
	}
}

static void amount_setting(struct jfr_settings *s, struct str name, struct str value)
{
	static const char *const names[] = {"alloc", "nativemem", "lock"};
	int64_t *const steps[] = {&s->alloc_step, &s->malloc_step, &s->lock_step};

	s->malloc_step_told |= str_eq(name, STR("nativemem"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_eq(name, str_of(names[i])) &&
		    (str_to_i64(value, steps[i]) || *steps[i] < 0 || *steps[i] > MAX_STEP))
			*steps[i] = 0;
}

static unsigned major_version(struct str version)
{
	uint64_t major;

	version.n = str_find(version, '.');
	return str_to_u64(version, 10, &major) || major > 1000 ? 0 : (unsigned)major;
}

/* Of the JDK this event has "enabled" and the like; of async-profiler, by its version, these. */
static void recording_setting(struct jfr_settings *s, struct str name, struct str value)
{
	if (str_eq(name, STR("event")))
		async_event(s, value);
	else if (str_eq(name, STR("version")))
		s->major = major_version(value);
	else if (!str_eq(name, STR("engine")))
		return;
	s->async_profiler = true;
}

static bool is_told_of(struct str event)
{
	static const char *const events[] = {
		"jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.ActiveRecording",
		"profiler.Malloc",     "jdk.JavaMonitorEnter",	 "jdk.ObjectAllocationInNewTLAB"};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_eq(event, str_of(events[i])))
			return true;
	return false;
}

static enum err apply(struct jfr_reader *r, const struct jfr_value *slots)
{
	struct jfr_settings *s = &r->settings;
	uint32_t class = jfr_class_by_id(r->chunk, slots[JFR_SETTING_EVENT].number);
	CLEANUP(buf_release) struct buf name_copy = BUF_INIT(4 * MAX_TEXT);
	struct str event, name, value;

	if (slots[JFR_SETTING_EVENT].kind != JFR_NUMBER || class == JFR_NO_CLASS)
		return ERR_OK;
	event = r->chunk->classes.v[class].name;
	if (!is_told_of(event))
		return ERR_OK;
	TRY(short_text(r, &slots[JFR_SETTING_NAME], &name));
	buf_str(&name_copy, name);
	TRY(buf_error(&name_copy));
	name = buf_view(&name_copy);
	TRY(short_text(r, &slots[JFR_SETTING_VALUE], &value));
	if (str_eq(event, STR("jdk.ExecutionSample")))
		execution_setting(s, name, value);
	else if (str_eq(event, STR("jdk.NativeMethodSample")) && str_eq(name, STR("period")))
		s->native_ns = period_ns(value);
	else if (str_eq(event, STR("jdk.ActiveRecording")))
		recording_setting(s, name, value);
	else
		amount_setting(s, name, value);
	if (str_eq(event, STR("jdk.ActiveRecording")) && str_eq(name, STR("event")) &&
	    value.n < sizeof(r->out->event)) {
		memcpy(r->out->event, value.p, value.n);
		r->out->event[value.n] = '\0';
	}
	return ERR_OK;
}

static void apply_defaults(struct jfr_settings *s)
{
	if (!s->async_profiler)
		return;
	if (s->wall_only && !s->wall_ns)
		s->wall_ns = s->execution_ns;
	if (!s->wall_ns)
		s->wall_ns = ASYNC_WALL_NS;
	if (!s->execution_ns)
		s->execution_ns = ASYNC_CPU_NS;
	if (s->counter_interval <= 0)
		s->counter_interval = 1;
	/* Before, "lock" was the shortest wait that is recorded. */
	if (s->major < 4)
		s->lock_step = 0;
}

/* async-profiler's chunks define events of its own. */
static bool is_of_async_profiler(const struct jfr_chunk *k)
{
	vec_for_each (class, &k->classes)
		if (str_starts(class->name, STR("profiler.")))
			return true;
	return false;
}

/*
 * A chunk with settings has all of them; async-profiler writes them into its first chunk only. A
 * file may contain chunks of both recorders, and of several recordings.
 */
enum err jfr_settings_read(struct jfr_reader *r)
{
	const struct jfr_chunk *k = r->chunk;
	struct jfr_settings *told = &r->told[is_of_async_profiler(k)];

	r->settings = k->settings.n ? (struct jfr_settings){0} : *told;
	vec_for_each (at, &k->settings) {
		struct jfr_value slots[JFR_SETTING_SLOTS_] = {0};
		uint64_t next = *at, type;
		struct jfr_cursor c;

		if (!jfr_next_event(k, &next, &c, &type))
			return ERR_INTERNAL;
		jfr_read_fields(k, &c, &k->event_plans[JFR_RULE_SETTING], slots);
		if (!c.failed)
			TRY(apply(r, slots));
	}
	apply_defaults(&r->settings);
	*told = r->settings;
	r->malloc_untold |= k->families >> JFR_FAMILY_MALLOC & 1 && !told->malloc_step_told;
	return ERR_OK;
}
