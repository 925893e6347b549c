/*
 * Samples and their CPU time, sent in every way that senders have: the time counts once.
 */
#include "otlp_message.h"

#define PERIOD 10000000

static void put_row(struct buf *b, int stack, int attribute, int link, int64_t value)
{
	size_t s = pb_begin(b, PROFILE_SAMPLES);

	pb_put_uint(b, SAMPLE_STACK, (uint64_t)stack);
	if (attribute)
		PACKED(b, SAMPLE_ATTRIBUTES, attribute);
	if (link)
		pb_put_uint(b, SAMPLE_LINK, (uint64_t)link);
	PACKED(b, SAMPLE_VALUES, value);
	pb_end(b, s);
}

static void put_head(struct buf *b, int64_t duration)
{
	put_value_type(b, PROFILE_PERIOD_TYPE, S_CPU, S_NANOSECONDS);
	pb_put_uint(b, PROFILE_PERIOD, PERIOD);
	pb_put_fixed64(b, PROFILE_TIME, 1700000000000000000);
	pb_put_uint(b, PROFILE_DURATION, (uint64_t)duration);
}

#define DURATION INT64_C(10000000000)

/* Counts 3 and 1, of two stacks and with a label and a link. */
static void put_counts(struct message *m)
{
	put_head(&m->b, DURATION);
	put_row(&m->b, 1, A_THREAD, 1, 3);
	put_row(&m->b, 2, 0, 0, 1);
}

static void put_cpu(struct message *m, int64_t duration)
{
	put_head(&m->b, duration);
	put_row(&m->b, 2, 0, 0, PERIOD);
	put_row(&m->b, 1, A_THREAD, 1, 3 * PERIOD);
}

static void next_scope(struct message *m)
{
	pb_end(&m->b, m->profile);
	pb_end(&m->b, m->scope);
	m->scope = pb_begin(&m->b, RESOURCE_PROFILES_SCOPES);
	message_profile(m, S_CPU, S_NANOSECONDS);
}

static int64_t total(const struct world *w, const char *type)
{
	int64_t sum = 0;

	for (size_t i = 0; i < w->list.n; i++)
		for (uint32_t t = 0; t < w->list.v[i]->type_count; t++)
			if (str_eq(dict_str(&w->dict, w->list.v[i]->types[t].type), str_of(type)))
				sum += profile_total(w->list.v[i], t);
	return sum;
}

static void expect_once(struct message *m)
{
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m->b));
	CHECK_INT(total(&w, "samples"), 4);
	CHECK_INT(total(&w, "cpu"), 4 * PERIOD);
}

TEST(counts_alone_become_cpu_time)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	message_end(&m, true);
	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.v[0]->type_count, 2);
	CHECK_INT(w.list.v[0]->derived, 2);
	CHECK_INT(total(&w, "cpu"), 4 * PERIOD);
}

TEST(rows_in_another_order_are_joined_by_stack_labels_and_link)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct profile *p;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_cpu(&m, DURATION);
	message_end(&m, true);
	expect_once(&m);
	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 1);
	p = w.list.v[0];
	CHECK_INT(p->derived, 0);
	CHECK_INT(p->row_count, 2);
	for (size_t i = 0; i < 2; i++)
		CHECK_INT(profile_values(p, i)[1], profile_values(p, i)[0] * PERIOD);
	CHECK_INT(p->default_type, 0);
}

TEST(a_stack_split_over_two_rows_is_joined)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_head(&m.b, DURATION);
	put_row(&m.b, 1, A_THREAD, 1, 1);
	put_row(&m.b, 2, 0, 0, 1);
	put_row(&m.b, 1, A_THREAD, 1, 2);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_cpu(&m, DURATION);
	message_end(&m, true);
	expect_once(&m);
	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 1);
	CHECK_INT(w.list.v[0]->row_count, 2);
}

TEST(rows_that_one_of_them_has_alone_are_kept)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct profile *p;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_head(&m.b, DURATION);
	put_row(&m.b, 1, 0, 0, 3);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_head(&m.b, DURATION);
	put_row(&m.b, 1, A_THREAD, 0, 5);
	put_row(&m.b, 2, 0, 0, 7);
	message_end(&m, true);
	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 1);
	p = w.list.v[0];
	CHECK_INT(p->row_count, 3);
	CHECK_INT(profile_total(p, 0), 3);
	CHECK_INT(profile_total(p, 1), 12);
}

TEST(cpu_time_in_another_scope_counts_once)
{
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	next_scope(&m);
	put_cpu(&m, DURATION);
	message_end(&m, true);
	expect_once(&m);
}

TEST(cpu_time_whose_duration_differs_counts_once)
{
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_cpu(&m, DURATION + 1);
	message_end(&m, true);
	expect_once(&m);
}

static void put_framed(struct buf *file, const struct message *m)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_byte(file, (unsigned char)(m->b.n >> shift));
	buf_str(file, buf_view(&m->b));
}

/* As the Collector's file exporter writes what came in two requests. */
TEST(cpu_time_in_another_message_of_the_file_counts_once)
{
	for (int order = 0; order < 2; order++) {
		CLEANUP(world_release) struct world w;
		CLEANUP(message_release) struct message counts, cpu;
		CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 20);

		message_begin(&counts, S_SAMPLES, S_COUNT);
		put_counts(&counts);
		message_end(&counts, true);
		message_begin(&cpu, S_CPU, S_NANOSECONDS);
		put_cpu(&cpu, DURATION);
		message_end(&cpu, true);
		put_framed(&file, order ? &cpu : &counts);
		put_framed(&file, order ? &counts : &cpu);
		CHECK_OK(world_init(&w));
		CHECK_OK(world_read(&w, &file));
		CHECK_INT(total(&w, "samples"), 4);
		CHECK_INT(total(&w, "cpu"), 4 * PERIOD);
	}
}

static void next_resource(struct message *m, const char *service)
{
	size_t resource;

	pb_end(&m->b, m->profile);
	pb_end(&m->b, m->scope);
	pb_end(&m->b, m->resource);
	m->resource = pb_begin(&m->b, DATA_RESOURCE_PROFILES);
	resource = pb_begin(&m->b, RESOURCE_PROFILES_RESOURCE);
	put_text_pair(&m->b, RESOURCE_ATTRIBUTES, "service.name", service);
	pb_end(&m->b, resource);
	m->scope = pb_begin(&m->b, RESOURCE_PROFILES_SCOPES);
	message_profile(m, S_CPU, S_NANOSECONDS);
}

TEST(what_another_resource_measured_says_nothing_about_this_one)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m, same;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	next_resource(&m, "other");
	put_cpu(&m, DURATION);
	message_end(&m, true);
	CHECK_OK(world_init(&w));
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(total(&w, "cpu"), 8 * PERIOD);
	/* The same resource, written twice. */
	message_begin(&same, S_SAMPLES, S_COUNT);
	put_counts(&same);
	next_resource(&same, "shop");
	put_cpu(&same, DURATION);
	message_end(&same, true);
	expect_once(&same);
}

TEST(a_broken_row_rejects_all_that_was_joined)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	struct rejects rejects = {0};

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_head(&m.b, DURATION);
	put_row(&m.b, 99, 0, 0, 5);
	message_end(&m, true);
	CHECK_OK(world_init(&w));
	w.out.rejects = &rejects;
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 0);
	CHECK_INT(rejects.n, 2);
}

static enum err read_joined(const struct buf *bytes)
{
	CLEANUP(world_release) struct world w = {0};

	TRY(world_init(&w));
	return world_read(&w, bytes);
}

TEST(joining_survives_any_allocation_failing)
{
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_counts(&m);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_cpu(&m, DURATION);
	next_scope(&m);
	put_cpu(&m, DURATION + 1);
	message_end(&m, true);
	ALLOC_SWEEP(read_joined(&m.b));
}
