/*
 * Which clock a sample was taken by, and how much one that was taken by its amount stands for.
 */
#include "jfr_fixture.h"

struct setting {
	int event;
	const char *name, *value;
};

static void put_settings(struct jfr_build *b, const struct setting *settings)
{
	for (; settings->name; settings++)
		put_setting(b, settings->event, settings->name, settings->value);
}

static void put_rest(struct jfr_build *b)
{
	put_test_pools(b);
	put_metadata(b, TYPES, TYPE_COUNT);
	chunk_end(b);
}

static const struct profile *find(const struct read *x, const char *type)
{
	for (size_t i = 0; i < x->list.n; i++) {
		const struct profile *p = x->list.v[i];

		if (str_eq(dict_str(p->dict, p->types[p->type_count - 1].type), str_of(type)))
			return p;
	}
	return NULL;
}

/* Two samples that slept, one that ran, and `cpu` without a state. */
static void put_both_clocks(struct jfr_build *b, const struct setting *settings, unsigned cpu)
{
	chunk_begin(b);
	put_settings(b, settings);
	put_sample_of(b, 6, 1, JFR_SLEEPING);
	put_sample_of(b, 5, 2, JFR_RUNNABLE);
	while (cpu--)
		put_sample_of(b, 5, 2, JFR_DEFAULT);
	put_sample_of(b, 6, 1, JFR_SLEEPING);
	put_rest(b);
}

static const struct setting both_clocks[] = {
	{T_RECORDING, "version", "3.0"},
	{T_RECORDING, "event", "cpu"},
	{T_EXECUTION, "interval", "5000000"},
	{T_EXECUTION, "wall", "20000000"},
	{0, NULL, NULL},
};

TEST(wall_clock_samples_beside_those_of_the_cpu_are_kept_apart)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_both_clocks(&b, both_clocks, 2);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 2);
	CHECK_INT(profile_total(find(&x, "cpu"), 1), 10000000);
	CHECK_INT(find(&x, "cpu")->period, 5000000);
	CHECK_INT(profile_total(find(&x, "wall"), 0), 3);
	CHECK_INT(profile_total(find(&x, "wall"), 1), 60000000);
	CHECK_INT(find(&x, "wall")->period, 20000000);
}

TEST(recording_by_wall_clock_alone_has_no_cpu_samples)
{
	static const struct setting settings[] = {
		{T_RECORDING, "version", "3.0"},
		{T_EXECUTION, "enabled", "false"},
		{T_EXECUTION, "wall", "0"},
		{0, NULL, NULL},
	};
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_both_clocks(&b, settings, 0);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 1);
	CHECK_INT(profile_total(find(&x, "wall"), 1), 3 * 50000000);
}

TEST(sleeping_is_never_cpu_whoever_says_it)
{
	static const struct setting settings[] = {{T_EXECUTION, "period", "10 ms"},
						  {0, NULL, NULL}};
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_both_clocks(&b, settings, 0);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 2);
	CHECK_INT(profile_total(find(&x, "cpu"), 1), 10000000);
	CHECK_INT(profile_total(find(&x, "wall"), 1), 20000000);
}

TEST(running_samples_of_version_2_are_cpu_time)
{
	static const struct setting settings[] = {
		{T_RECORDING, "version", "2.9"},
		{T_RECORDING, "event", "cpu"},
		{T_EXECUTION, "interval", "10000000"},
		{0, NULL, NULL},
	};
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_settings(&b, settings);
	put_sample_of(&b, 5, 2, JFR_RUNNABLE);
	put_rest(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 1);
	CHECK_INT(profile_total(find(&x, "cpu"), 1), 10000000);
}

TEST(what_is_shown_first_of_two_clocks_is_cpu)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x = {.r.limits = LIMITS_DEFAULT};

	put_both_clocks(&b, both_clocks, 2);
	x.r.dict = &x.d;
	x.r.list = &x.list;
	x.r.first_type_only = true;
	CHECK_OK(dict_init(&x.d, 1));
	CHECK_OK(format_read(buf_view(&b.out), &formats[FORMAT_JFR], &x.r, NULL));
	CHECK_INT(profile_total(find(&x, "cpu"), 1), 10000000);
}

static void put_waits(struct jfr_build *b, const char *version, const char *step)
{
	const struct setting settings[] = {
		{T_RECORDING, "version", version},
		{T_MONITOR, "lock", step},
		{0, NULL, NULL},
	};

	chunk_begin(b);
	put_settings(b, settings);
	put_wait(b, 3);
	put_wait(b, 25);
	put_rest(b);
}

TEST(waits_taken_by_their_length_stand_for_those_that_were_not)
{
	static const struct {
		const char *version, *step;
		int64_t count, delay;
	} cases[] = {
		{"4.4", "10000000", 3 + 1, 10000000 + 25000000},
		{"4.4", "1000000", 2, 28000000},
		{"4.4", "0", 2, 28000000},
		{"4.4", "-5", 2, 28000000},
		{"4.4", "9223372036854775807", 2, 28000000},
		{"3.0", "10000000", 2, 28000000}, /* the shortest wait to record */
		{"what", "10000000", 2, 28000000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(jfr_build_release) struct jfr_build b = {0};
		CLEANUP(read_release) struct read x;

		put_waits(&b, cases[i].version, cases[i].step);
		CHECK_OK(read_bytes(&x, buf_view(&b.out)));
		CHECK_INT(profile_total(find(&x, "delay"), 0), cases[i].count);
		CHECK_INT(profile_total(find(&x, "delay"), 1), cases[i].delay);
	}
}

static void put_running(struct jfr_build *b, const struct setting *settings)
{
	chunk_begin(b);
	put_settings(b, settings);
	put_sample_of(b, 5, 2, JFR_RUNNABLE);
	put_rest(b);
}

TEST(settings_of_a_chunk_end_with_the_next_that_has_its_own)
{
	static const struct setting jdk[] = {{T_EXECUTION, "period", "10 ms"}, {0, NULL, NULL}},
				    none[] = {{0, NULL, NULL}};
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_both_clocks(&b, both_clocks, 2);
	put_running(&b, none);
	put_running(&b, jdk);
	put_running(&b, none);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(profile_total(find(&x, "wall"), 1), 4 * 20000000);
	CHECK_INT(profile_total(find(&x, "cpu"), 1), 2 * 5000000 + 2 * 10000000);
}

TEST(counted_events_and_times_of_other_chunks_are_kept_apart)
{
	static const struct setting misses[] = {{T_RECORDING, "event", "cache-misses"},
						{T_EXECUTION, "interval", "1000"},
						{0, NULL, NULL}},
				    faults[] = {{T_RECORDING, "event", "page-faults"},
						{0, NULL, NULL}};

	for (int first = 0; first < 2; first++) {
		CLEANUP(jfr_build_release) struct jfr_build b = {0};
		CLEANUP(read_release) struct read x;
		const struct profile *p;

		if (first)
			put_running(&b, misses);
		put_both_clocks(&b, both_clocks, 2);
		if (!first)
			put_running(&b, misses);
		CHECK_OK(read_bytes(&x, buf_view(&b.out)));
		CHECK_INT(profile_total(find(&x, "cpu"), 1), 2 * 5000000);
		p = find(&x, "cache-misses");
		CHECK_INT(profile_total(p, 1), 1000);
		CHECK_STR(dict_str(p->dict, p->types[0].type), "cache-misses_samples");
	}
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_running(&b, misses);
	put_running(&b, faults);
	CHECK_ERR(read_bytes(&x, buf_view(&b.out)), ERR_UNSUPPORTED);
	CHECK(strstr(x.r.fault.text, "cache-misses") && strstr(x.r.fault.text, "page-faults"));
}

TEST(malloc_without_an_interval_is_noted)
{
	static const struct setting silent[] = {{T_RECORDING, "version", "4.0"}, {0, NULL, NULL}},
				    told[] = {{T_RECORDING, "version", "4.2"},
					      {T_MALLOC, "nativemem", "1000"},
					      {0, NULL, NULL}};

	for (int i = 0; i < 2; i++) {
		CLEANUP(jfr_build_release) struct jfr_build b = {0};
		CLEANUP(read_release) struct read x;

		chunk_begin(&b);
		put_settings(&b, i ? told : silent);
		put_malloc(&b, 100);
		put_malloc(&b, 4000);
		put_rest(&b);
		CHECK_OK(read_bytes(&x, buf_view(&b.out)));
		CHECK_INT(profile_total(find(&x, "malloc_bytes"), 1), i ? 5000 : 4100);
		CHECK_INT(profile_total(find(&x, "malloc_bytes"), 0), i ? 11 : 2);
		CHECK(has_note(&x, "nativemem") == !i);
	}
}

static enum err read_and_forget(struct str bytes)
{
	struct read x;
	enum err e = read_bytes(&x, bytes);

	read_release(&x);
	return e;
}

TEST(reader_of_two_clocks_survives_any_allocation_failing)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	put_both_clocks(&b, both_clocks, 2);
	ALLOC_SWEEP(read_and_forget(buf_view(&b.out)));
}
