/* Parts of the library that can be looked at by themselves. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "sdk/label_sets.h"
#include "sdk/live_objects.h"
#include "sdk/name_store.h"
#include "sdk/outlet.h"
#include "sdk/poisson.h"
#include "sdk/sample_slots.h"
#include "sdk/sdk_settings.h"
#include "sdk/shared_context.h"
#include "sdk/tally.h"
#include "vestal.h"

/* ---- Poisson sampling ---- */

TEST(a_sampled_allocation_stands_for_as_much_as_theory_says)
{
	static const uint64_t sizes[] = {1, 16, 512, 4096, 65536, 524288, 4 << 20, 1 << 30};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double p = -expm1(-(double)sizes[i] / 524288), objects, bytes;

		poisson_weights(sizes[i], 524288, &objects, &bytes);
		CHECK(fabs(objects * p - 1) < 1e-9);
		CHECK(fabs(bytes * p / (double)sizes[i] - 1) < 1e-9);
	}
}

TEST(distances_are_those_of_an_exponential_distribution)
{
	for (double u = 1e-9; u <= 1; u = u < 0.9 ? u * 1.7 : u + 0.01)
		CHECK(fabs(poisson_distance(u, 1000) + 1000 * log(u)) < 1e-6);
}

/* ---- watched objects ---- */

static int64_t live_count, live_bytes;

static void add_live(void *context, u32 stack, s64 count, s64 bytes)
{
	(void)context;
	live_count += count;
	live_bytes += bytes + stack;
}

TEST(an_object_is_watched_until_it_is_freed)
{
	u64 serial;

	CHECK(live_open());
	CHECK(!live_maybe(live_table, 0x1000));
	serial = live_add(0x1000, 2, 3000);
	CHECK(serial);
	CHECK(live_maybe(live_table, 0x1000));
	/* Without a stack it is not told. */
	live_each(add_live, NULL);
	CHECK_INT(live_count, 0);
	live_set_stack(0x1000, serial + 1, 5);
	live_each(add_live, NULL);
	CHECK_INT(live_count, 0);
	live_set_stack(0x1000, serial, 5);
	live_each(add_live, NULL);
	CHECK_INT(live_count, 2);
	CHECK_INT(live_bytes, 3005);
	live_remove(0x2000);
	live_remove(0x1000);
	CHECK(!live_maybe(live_table, 0x1000));
	live_each(add_live, NULL);
	CHECK_INT(live_count, 2);
}

TEST(a_full_line_loses_objects_and_says_so)
{
	u64 lost = live_lost(), kept = 0;

	CHECK(live_open());
	for (u64 i = 0; i < 200000; i++)
		kept += live_add(0x10000 + i * 16, 1, 16) != 0;
	CHECK(kept > 50000 && kept <= LIVE_LINES * LIVE_PER_LINE);
	CHECK_INT(live_lost() - lost, 200000 - kept);
	live_forget();
	CHECK(!live_maybe(live_table, 0x10000));
}

/* ---- slots ---- */

static int drained;

static void count_drained(void *context, const struct taken_sample *s)
{
	drained += s->value == *(int64_t *)context;
}

TEST(slots_are_claimed_filled_drained_and_claimed_again)
{
	struct taken_sample *s, *raw;
	int64_t value = 7;

	CHECK(sample_slots_open());
	s = sample_claim(SAMPLE_CPU);
	raw = sample_claim(SAMPLE_ALLOC);
	CHECK(s && raw && s != raw);
	s->value = raw->value = 7;
	raw->raw = raw_stack_claim();
	CHECK(raw->raw);
	drained = 0;
	sample_slots_drain(false, count_drained, &value);
	CHECK_INT(drained, 0);
	sample_publish(s);
	sample_publish(raw);
	sample_slots_drain(false, count_drained, &value);
	CHECK_INT(drained, 1);
	sample_slots_drain(true, count_drained, &value);
	CHECK_INT(drained, 2);
	CHECK(sample_claim(SAMPLE_CPU) == s);
	sample_abandon(s);
}

TEST(slots_end_somewhere_and_what_is_lost_is_counted)
{
	u64 claimed = 0;

	sample_slots_reset();
	while (sample_claim(SAMPLE_CPU))
		claimed++;
	CHECK(claimed >= 1000);
	CHECK_INT(sample_slots_lost(), 0);
	sample_lost();
	CHECK_INT(sample_slots_lost(), 1);
	sample_slots_reset();
	CHECK(sample_claim(SAMPLE_CPU));
	sample_slots_reset();
}

/* ---- counting ---- */

static enum err fill_tally(struct tally *t)
{
	static const u64 stacks[2][2] = {{1, 2}, {1, 3}};
	struct span_context none = {0}, span = {.name = "x"};
	u32 a, b, nobody, somebody;

	tally_init(t, 2);
	TRY(tally_stack(t, stacks[0], 2, &a));
	TRY(tally_stack(t, stacks[1], 2, &b));
	TRY(tally_context(t, &none, &nobody));
	TRY(tally_context(t, &span, &somebody));
	tally_add(t, SAMPLE_CPU, a, nobody, 1, 10);
	tally_add(t, SAMPLE_CPU, a, nobody, 1, 20);
	tally_add(t, SAMPLE_CPU, a, somebody, 1, 30);
	tally_add(t, SAMPLE_CPU, b, nobody, 1, 40);
	return t->rows.n ? ERR_OK : ERR_NO_MEMORY;
}

static enum err try_tally(void)
{
	struct tally t;
	enum err e = fill_tally(&t);

	tally_release(&t);
	return e;
}

TEST(equal_stacks_and_contexts_are_one_row_and_rows_have_a_ceiling)
{
	struct tally t;

	CHECK_OK(fill_tally(&t));
	CHECK_INT(t.rows.n, 2);
	CHECK_INT(t.rows.v[0].value, 30);
	CHECK_INT(t.rows.v[0].count, 2);
	CHECK_INT(t.rows.v[1].value, 30);
	CHECK_INT(t.lost, 1);
	tally_clear(&t);
	CHECK_INT(t.rows.n, 0);
	CHECK_INT(t.stacks.n, 2);
	tally_release(&t);
	ALLOC_SWEEP(try_tally());
}

/* ---- names ---- */

static enum err fill_names(struct name_store *s)
{
	struct symbol_frame frames[2] = {
		{.function = "inner", .linkage = "", .file = "a.c", .line = 3, .inlined = true},
		{.function = "outer", .linkage = "outer", .file = "a.c", .line = 9}};

	TRY(name_store_add(s, 0x1000, frames, 2));
	return name_store_add(s, 0x2000, frames, 0);
}

static enum err try_names(void)
{
	struct name_store s = {0};
	enum err e = fill_names(&s);

	name_store_release(&s);
	return e;
}

TEST(names_are_kept_by_place_and_so_is_that_there_is_none)
{
	struct name_store s = {0};
	const struct kept_place *p;

	CHECK_OK(fill_names(&s));
	p = name_store_find(&s, 0x1000);
	CHECK(p);
	CHECK_INT(p->count, 2);
	CHECK_STR(str_of(name_store_frame(&s, p, 0).function), "inner");
	CHECK_STR(str_of(name_store_frame(&s, p, 0).linkage), "");
	CHECK(name_store_frame(&s, p, 0).inlined);
	CHECK_STR(str_of(name_store_frame(&s, p, 1).file), "a.c");
	CHECK_INT(name_store_frame(&s, p, 1).line, 9);
	p = name_store_find(&s, 0x2000);
	CHECK(p);
	CHECK_INT(p->count, 0);
	CHECK(!name_store_find(&s, 0x3000));
	name_store_release(&s);
	ALLOC_SWEEP(try_names());
}

/* ---- labels ---- */

TEST(sets_of_labels_are_known_by_their_content)
{
	struct str key, value;
	u32 a = 0, b = 0, c = 0;

	CHECK_OK(label_sets_with(0, STR("a"), STR("1"), &a, NULL));
	CHECK_OK(label_sets_with(a, STR("b"), STR("2"), &b, NULL));
	CHECK(a && b && a != b);
	CHECK(label_sets_get(b, 1, &key, &value));
	CHECK_STR(key, "b");
	CHECK_STR(value, "2");
	CHECK(!label_sets_get(b, 2, &key, &value));
	CHECK_OK(label_sets_with(b, STR("b"), (struct str){0}, &c, NULL));
	CHECK_INT(c, a);
	CHECK_OK(label_sets_with(c, STR("a"), (struct str){0}, &c, NULL));
	CHECK_INT(c, 0);
	CHECK_OK(label_sets_with(a, STR("a"), STR("9"), &c, NULL));
	CHECK(label_sets_get(c, 0, &key, &value));
	CHECK_STR(value, "9");
}

TEST(labels_that_are_too_many_or_no_text_are_refused)
{
	struct fault fault = {0};
	u32 set = 0;
	char long_key[80];

	memset(long_key, 'k', sizeof(long_key));
	CHECK_ERR(label_sets_with(0, str_n(long_key, 64), STR("v"), &set, &fault),
		  ERR_BAD_ARGUMENT);
	CHECK_ERR(label_sets_with(0, STR(""), STR("v"), &set, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(label_sets_with(0, STR("k"), STR("\xff"), &set, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(label_sets_with(0, STR("k"), STR("a\0b"), &set, &fault), ERR_BAD_ARGUMENT);
	for (int i = 0; i < LABELS_OF_THREAD; i++) {
		char key[2] = {(char)('a' + i), 0};

		CHECK_OK(label_sets_with(set, str_of(key), STR("v"), &set, &fault));
	}
	CHECK_ERR(label_sets_with(set, STR("z"), STR("v"), &set, &fault), ERR_TOO_LARGE);
}

/* ---- settings and files ---- */

TEST(settings_come_from_options_then_from_the_environment)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct sdk_settings s;
	struct fault fault = {0};

	setenv("OTEL_SERVICE_NAME", "by-environment", 1);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]:99/base/", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b, c = d", 1);
	CHECK_OK(sdk_settings_read(&o, &s, &fault));
	CHECK_STR(str_of(s.service), "by-environment");
	CHECK_STR(str_of(s.host_name), "::1");
	CHECK_STR(str_of(s.port), "99");
	CHECK_STR(str_of(s.path), "/base/v1development/profiles");
	CHECK_STR(str_of(s.headers), "a: b\r\nc: d\r\n");
	CHECK_INT(s.rate_hz, 100);
	CHECK_INT(s.types, SDK_CPU);
	o.service_name = "by-option";
	o.endpoint = "http://localhost:4318";
	o.sample_rate_hz = 19;
	CHECK_OK(sdk_settings_read(&o, &s, &fault));
	CHECK_STR(str_of(s.service), "by-option");
	CHECK_STR(str_of(s.path), "/v1development/profiles");
	/* Another server does not get the environment's passwords. */
	CHECK_STR(str_of(s.headers), "");
	CHECK_INT(s.rate_hz, 19);
	unsetenv("OTEL_SERVICE_NAME");
	unsetenv("OTEL_EXPORTER_OTLP_HEADERS");
	CHECK(!s.tls);
	o.endpoint = "https://x";
	CHECK_OK(sdk_settings_read(&o, &s, &fault));
	CHECK(s.tls);
	CHECK_STR(str_of(s.port), "443");
	o.endpoint = "ftp://x";
	CHECK_ERR(sdk_settings_read(&o, &s, &fault), ERR_UNSUPPORTED);
	o.endpoint = "http://x:70000";
	CHECK_ERR(sdk_settings_read(&o, &s, &fault), ERR_BAD_ARGUMENT);
	o.endpoint = "http://a b";
	CHECK_ERR(sdk_settings_read(&o, &s, &fault), ERR_BAD_ARGUMENT);
	unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
}

TEST(options_of_an_older_header_are_shorter)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct sdk_settings s;

	o.service_name = "old";
	o.sample_rate_hz = 5000;
	o.size = offsetof(struct vestal_options, endpoint);
	CHECK_OK(sdk_settings_read(&o, &s, NULL));
	CHECK_STR(str_of(s.service), "old");
	CHECK_INT(s.rate_hz, 100);
	o.size = sizeof(o);
	CHECK_ERR(sdk_settings_read(&o, &s, NULL), ERR_BAD_ARGUMENT);
	o.size = 0;
	CHECK_ERR(sdk_settings_read(&o, &s, NULL), ERR_BAD_ARGUMENT);
}

TEST(a_files_name_holds_process_and_time)
{
	char path[40];

	CHECK_OK(outlet_path("p-%p-%t.pb", 42, 1500000000, path, sizeof(path)));
	CHECK_STR(str_of(path), "p-42-1500.pb");
	CHECK_OK(outlet_path("100%%-%x-%", 42, 0, path, sizeof(path)));
	CHECK_STR(str_of(path), "100%-%x-%");
	CHECK_ERR(outlet_path("0123456789%p%p%p%p%p%p%p", 1234567, 0, path, sizeof(path)),
		  ERR_TOO_LARGE);
}

/* ---- what programs call ---- */

TEST(a_traceparent_is_read_and_others_are_not)
{
	static const char *const bad[] = {
		"",
		"00-",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
	uint8_t trace[16], span[8];

	CHECK_INT(vestal_traceparent_parse(
			  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", trace, span),
		  0);
	CHECK_INT(trace[0], 0x0a);
	CHECK_INT(span[7], 0x31);
	CHECK_INT(vestal_traceparent_parse(
			  "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", trace,
			  span),
		  0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(vestal_traceparent_parse(bad[i], trace, span), -1);
	CHECK(strstr(vestal_last_error(), "traceparent"));
}

TEST(the_thread_record_is_that_of_the_standard)
{
	uint8_t trace[16] = {1, 2}, span[8] = {3}, inner[8] = {4};
	const uint8_t *r;

	vestal_span_enter(trace, span, "outer");
	vestal_span_enter(trace, inner, "x");
	r = (const uint8_t *)otel_thread_ctx_v1;
	CHECK(r);
	CHECK(!memcmp(r, trace, 16) && !memcmp(r + 16, inner, 8));
	CHECK(!memcmp(r + 24, "\1\0\3\0\0\1x", 7));
	vestal_span_exit(0);
	CHECK(!memcmp(r + 16, span, 8));
	CHECK(!memcmp(r + 24, "\1\0\7\0\0\5outer", 11));
	vestal_span_exit(0);
	CHECK_INT(r[24], 0);
}

TEST(spans_nest_and_what_is_too_deep_is_the_last_that_fits)
{
	uint8_t trace[16] = {1}, span[8] = {0};

	for (int i = 0; i < 40; i++) {
		span[0] = (uint8_t)(i + 1);
		vestal_span_enter(trace, span,
				  "a name that is longer than what a sample can hold of it");
	}
	for (int i = 0; i < 50; i++)
		vestal_span_exit(0);
	CHECK_INT(vestal_label_set("k", "v"), 0);
	CHECK_INT(vestal_label_set("k", NULL), 0);
	CHECK_INT(vestal_label_set(NULL, "v"), -1);
}
