#include "pprof_maker.h"

#include "pipeline/jfr_contexts.h"
#include "pipeline/jfr_types.h"
#include "pipeline/rename_functions.h"

static void put_entry(struct buf *b, uint32_t field, uint64_t key, struct str text, uint64_t number)
{
	size_t m = pb_begin(b, field);

	pb_put_uint(b, 1, key);
	if (text.n)
		pb_put_bytes(b, 2, text);
	else
		pb_put_uint(b, 2, number);
	pb_end(b, m);
}

TEST(contexts_have_labels_made_of_strings)
{
	CLEANUP(jfr_contexts_release) struct jfr_contexts c = {0};
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 16), context = BUF_INIT(1 << 16);
	uint32_t at, n;

	put_entry(&context, 1, 1, STR(""), 2);
	put_entry(&context, 1, 1, STR(""), 99); /* a string that is not there */
	put_entry(&b, 1, 7, buf_view(&context), 0);
	put_entry(&b, 2, 1, STR("endpoint"), 0);
	put_entry(&b, 2, 2, STR("/pay"), 0);
	put_entry(&b, 2, 2, STR("second meaning"), 0);
	CHECK_OK(jfr_contexts_read(&c, buf_view(&b), 3, NULL));
	jfr_contexts_find(&c, 7, &at, &n);
	CHECK_INT(n, 1);
	CHECK_STR(c.pairs.v[at].name, "endpoint");
	CHECK_STR(c.pairs.v[at].value, "/pay");
	jfr_contexts_find(&c, 8, &at, &n);
	CHECK_INT(n, 0);
	CHECK_STR(jfr_contexts_string(&c, 2), "/pay");
	CHECK_STR(jfr_contexts_string(&c, 3), "");
}

TEST(contexts_that_are_malformed_or_endless_are_refused)
{
	CLEANUP(jfr_contexts_release) struct jfr_contexts c = {0}, d = {0};
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 16), context = BUF_INIT(1 << 16);
	struct fault fault;

	CHECK_ERR(jfr_contexts_read(&c, STR("\x0a\x7f"), 3, &fault), ERR_CORRUPT);
	for (int i = 0; i < 200; i++)
		put_entry(&context, 1, 1, STR(""), 1);
	put_entry(&b, 1, 7, buf_view(&context), 0);
	put_entry(&b, 2, 1, STR("x"), 0);
	CHECK_ERR(jfr_contexts_read(&d, buf_view(&b), 3, &fault), ERR_TOO_LARGE);
}

TEST(wall_clock_samples_of_running_threads_are_cpu_time)
{
	CLEANUP(maker_release) struct maker m;
	CLEANUP(arena_release) struct arena arena = {0};
	struct str id;

	CHECK_OK(maker_init(&m));
	maker_type(&m, "wall_samples count");
	maker_type(&m, "wall nanoseconds");
	maker_period(&m, "wall", "nanoseconds", 10);
	ROW(&m, "main;run", "thread.state=STATE_RUNNABLE", 2, 20);
	ROW(&m, "main;sleep", "thread.state=STATE_SLEEPING", 3, 30);
	CHECK_OK(jfr_add_cpu(&m.list));
	CHECK_INT(m.list.n, 2);
	CHECK_INT(m.list.v[1]->row_count, 1);
	CHECK_INT(profile_values(m.list.v[1], 0)[1], 20);
	CHECK_OK(jfr_type_id(m.list.v[1], 0, &arena, &id));
	CHECK_INT(id.n, 0);
	CHECK_OK(jfr_type_id(m.list.v[1], 1, &arena, &id));
	CHECK_STR(id, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	CHECK_OK(jfr_type_id(m.list.v[0], 1, &arena, &id));
	CHECK_STR(id, "wall:wall:nanoseconds:wall:nanoseconds");
	/* A recording that has samples of its own gets no others. */
	CHECK_OK(jfr_add_cpu(&m.list));
	CHECK_INT(m.list.n, 2);
}

TEST(counters_keep_their_name)
{
	CLEANUP(maker_release) struct maker m;
	CLEANUP(arena_release) struct arena arena = {0};
	struct str id;

	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	maker_type(&m, "cache-misses count");
	maker_period(&m, "cache-misses", "count", 1000);
	CHECK_OK(jfr_type_id(m.p, 1, &arena, &id));
	CHECK_STR(id, "process_cpu:cache-misses:count:cache-misses:count");
	CHECK(!jfr_is_time(m.p));
}

TEST(numbers_of_classes_that_were_made_up_are_taken_off)
{
	static const struct {
		const char *name, *expected; /* NULL: it stays */
	} cases[] = {
		{"Main$$Lambda$53.0x00007f16c80c6cb8.run", "Main$$Lambda_.run"},
		{"Fib$$Lambda.0x00007ffa600c4da0.run", "Fib$$Lambda_.run"},
		{"a.B$$Lambda$14/1234.get", "a.B$$Lambda_.get"},
		{"a.B$$Lambda7.get", "a.B$$Lambda_.get"},
		{"a.B$$Lambda$x.get", NULL},
		{"a.B$$Lambda.get", NULL},
		{"jdk.internal.reflect.GeneratedMethodAccessor31.invoke",
		 "jdk.internal.reflect.GeneratedMethodAccessor_.invoke"},
		{"jdk.internal.reflect.GeneratedMethodAccessorX.invoke", NULL},
		{"Shop$$EnhancerBySpringCGLIB$$5e9f.pay", "Shop$$EnhancerBySpringCGLIB$$_.pay"},
		{"Shop.pay", NULL},
		{"pay", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(maker_release) struct maker m;
		CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
		struct function f = {0};

		CHECK_OK(maker_init(&m));
		CHECK_OK(dict_text(&m.d, cases[i].name, &f.name));
		CHECK(java_name(&m.d, &f, &out) == (cases[i].expected != NULL));
		if (cases[i].expected)
			CHECK_STR(buf_view(&out), cases[i].expected);
	}
}
