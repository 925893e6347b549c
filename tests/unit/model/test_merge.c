#include "profile_maker.h"

#include "base/hash.h"

static int64_t value_of(const struct profile *p, const char *folded, const char *labels,
			uint32_t type)
{
	uint32_t stack, set;
	int64_t sum = 0;

	if (maker_stack(p->dict, folded, &stack) || maker_labels(p->dict, labels, &set))
		return -1;
	for (size_t i = 0; i < p->row_count; i++)
		if (p->stack[i] == stack && p->labels[i] == set)
			sum += profile_values(p, i)[type];
	return sum;
}

static enum err merge_two(const struct profile *a, const struct profile *b, bool sum_gauges,
			  struct profile *dst)
{
	CLEANUP(merge_release) struct merge m;

	merge_begin(&m, dst);
	m.sum_gauges = sum_gauges;
	TRY(merge_add(&m, a));
	if (b)
		TRY(merge_add(&m, b));
	return merge_finish(&m);
}

#define TARGET(name, seed)                            \
	CLEANUP(made_release) struct made name = {0}; \
	CHECK_OK(dict_init(&name.dict, seed));        \
	profile_init(&name.p, &name.dict)

static void check_equal_rows(uint64_t seed_a, uint64_t seed_b, uint64_t seed_out)
{
	MADE(a);
	MADE(b);
	TARGET(out, seed_out);

	CHECK_OK(made_init(&a, seed_a));
	CHECK_OK(made_init(&b, seed_b));
	CHECK_OK(maker_row(&a.p, "main;x", 1));
	CHECK_OK(maker_row(&a.p, "main;y", 2));
	CHECK_OK(maker_row(&b.p, "extra;z", 4));
	CHECK_OK(maker_row(&b.p, "main;y", 8));
	CHECK_OK(maker_row(&b.p, "main;y", 16));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.row_count, 3);
	CHECK_INT(value_of(&out.p, "main;x", "", 0), 1);
	CHECK_INT(value_of(&out.p, "main;y", "", 0), 26);
	CHECK_INT(value_of(&out.p, "extra;z", "", 0), 4);
}

TEST(equal_rows_of_different_dictionaries_become_one)
{
	check_equal_rows(1, 2, 3);
}

TEST(one_seed_finds_stacks_by_hash_with_the_same_result)
{
	check_equal_rows(7, 7, 7);
}

TEST(profiles_over_the_targets_own_dictionary_merge_directly)
{
	MADE(m);
	CLEANUP(profile_release) struct profile q;
	CLEANUP(profile_release) struct profile out;

	CHECK_OK(made_init(&m, 1));
	profile_init(&q, &m.dict);
	profile_init(&out, &m.dict);
	CHECK_OK(profile_add_type(&q, STR("samples"), STR("count")));
	CHECK_OK(maker_row(&m.p, "main;x", 1));
	CHECK_OK(maker_row(&q, "main;x", 2));
	CHECK_OK(merge_two(&m.p, &q, false, &out));
	CHECK_INT(out.row_count, 1);
	CHECK_INT(out.values[0], 3);
}

/* Where values can be added in place, rows of the same stack with labels, and values in another
 * unit, are still not mixed with the others, and sums do not wrap. */
TEST(rows_added_in_place_are_those_of_the_stack_alone)
{
	MADE(m);
	CLEANUP(profile_release) struct profile q;
	CLEANUP(profile_release) struct profile out;
	CLEANUP(merge_release) struct merge merge;
	struct row labelled = {0};
	int64_t value = 5;

	CHECK_OK(made_init(&m, 1));
	profile_init(&q, &m.dict);
	profile_init(&out, &m.dict);
	CHECK_OK(profile_add_type(&q, STR("samples"), STR("count")));
	CHECK_OK(maker_row(&m.p, "main;x", 1));
	CHECK_OK(maker_row(&q, "main;x", INT64_MAX));
	CHECK_OK(maker_row(&q, "main;y", 4));
	labelled.stack = q.stack[0];
	CHECK_OK(dict_label_text(&m.dict, STR("key"), STR("value"), &labelled.labels));
	CHECK_OK(dict_label_set(&m.dict, &labelled.labels, 1, &labelled.labels));
	CHECK_OK(profile_add(&q, &labelled, &value));
	merge_begin(&merge, &out);
	CHECK_OK(merge_add(&merge, &m.p));
	CHECK_OK(merge_add(&merge, &q));
	CHECK_OK(merge_add(&merge, &m.p));
	CHECK_OK(merge_finish(&merge));
	CHECK_INT(out.row_count, 3);
	CHECK_INT(out.values[0], INT64_MAX);
	CHECK_INT(out.values[1], 4);
	CHECK_INT(out.values[2], 5);
	CHECK_INT(out.labels[2], labelled.labels);
}

TEST(target_with_rows_is_the_first_profile)
{
	MADE(a);
	MADE(b);
	CLEANUP(merge_release) struct merge m;

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(made_init(&b, 2));
	CHECK_OK(maker_row(&a.p, "main;x", 1));
	CHECK_OK(maker_row(&b.p, "main;x", 2));
	a.p.time_ns = 50;
	b.p.time_ns = 40;
	merge_begin(&m, &a.p);
	CHECK_OK(merge_add(&m, &b.p));
	CHECK_INT(m.count, 2);
	CHECK_OK(merge_finish(&m));
	CHECK_INT(a.p.row_count, 1);
	CHECK_INT(a.p.values[0], 3);
	CHECK_INT(a.p.time_ns, 40);
}

TEST(missing_types_are_added_and_the_shown_one_stays)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(made_init(&b, 2));
	CHECK_OK(profile_add_type(&b.p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(maker_row(&a.p, "main;x", 1));
	CHECK_OK(maker_add(&b.p, "main;x", "", (int64_t[]){2, 20}));
	CHECK_OK(maker_add(&b.p, "main;y", "", (int64_t[]){4, 40}));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.type_count, 2);
	CHECK_INT(value_of(&out.p, "main;x", "", 0), 3);
	CHECK_INT(value_of(&out.p, "main;x", "", 1), 20);
	CHECK_INT(value_of(&out.p, "main;y", "", 1), 40);
	CHECK_INT(profile_default_type(&out.p), 0);
}

TEST(types_in_another_order_are_matched_by_name)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(profile_add_type(&a.p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(dict_init(&b.dict, 2));
	profile_init(&b.p, &b.dict);
	CHECK_OK(profile_add_type(&b.p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(profile_add_type(&b.p, STR("samples"), STR("count")));
	CHECK_OK(maker_add(&a.p, "main", "", (int64_t[]){1, 10}));
	CHECK_OK(maker_add(&b.p, "main", "", (int64_t[]){20, 2}));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.type_count, 2);
	CHECK_INT(out.p.values[0], 3);
	CHECK_INT(out.p.values[1], 30);
}

static enum err one_value(struct made *m, uint64_t seed, const char *type, const char *unit,
			  int64_t value)
{
	TRY(dict_init(&m->dict, seed));
	profile_init(&m->p, &m->dict);
	TRY(profile_add_type(&m->p, str_of(type), str_of(unit)));
	return maker_row(&m->p, "main", value);
}

TEST(units_of_one_kind_are_added_in_the_finer)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);
	TARGET(other, 4);

	CHECK_OK(one_value(&a, 1, "cpu", "microseconds", 5));
	CHECK_OK(one_value(&b, 2, "cpu", "nanoseconds", 7));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.type_count, 1);
	CHECK_STR(dict_str(&out.dict, out.p.types[0].unit), "nanoseconds");
	CHECK_INT(out.p.values[0], 5007);
	CHECK_OK(merge_two(&b.p, &a.p, false, &other.p));
	CHECK_STR(dict_str(&other.dict, other.p.types[0].unit), "nanoseconds");
	CHECK_INT(other.p.values[0], 5007);
}

TEST(conversion_of_units_saturates)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(one_value(&a, 1, "cpu", "nanoseconds", 1));
	CHECK_OK(one_value(&b, 2, "cpu", "seconds", INT64_MIN / 2));
	CHECK_OK(merge_two(&b.p, &a.p, false, &out.p));
	CHECK(out.p.values[0] == INT64_MIN + 1);
}

TEST(gauges_are_means_within_a_series_and_sums_over_series)
{
	MADE(a);
	MADE(b);
	MADE(c);
	TARGET(out, 9);
	CLEANUP(merge_release) struct merge m;

	CHECK_OK(one_value(&a, 1, "inuse_space", "bytes", 100));
	CHECK_OK(one_value(&b, 2, "inuse_space", "bytes", 201));
	CHECK_OK(one_value(&c, 3, "inuse_space", "bytes", 1000));
	CHECK_OK(maker_labels(&a.dict, "service=x,host=1", &a.p.resource));
	CHECK_OK(maker_labels(&b.dict, "service=x,host=1", &b.p.resource));
	CHECK_OK(maker_labels(&c.dict, "service=x,host=2", &c.p.resource));
	merge_begin(&m, &out.p);
	CHECK_OK(merge_add(&m, &a.p));
	CHECK_OK(merge_add(&m, &b.p));
	CHECK_OK(merge_add(&m, &c.p));
	CHECK_OK(merge_finish(&m));
	CHECK_INT(value_of(&out.p, "main", "host=1", 0), 151);
	CHECK_INT(value_of(&out.p, "main", "host=2", 0), 1000);
	CHECK_STR(dict_str(&out.dict,
			   (uint32_t)label_find(&out.dict, out.p.resource, STR("service"))->value),
		  "x");
	CHECK(!label_find(&out.dict, out.p.resource, STR("host")));
}

TEST(gauges_are_added_when_asked)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(one_value(&a, 1, "inuse_space", "bytes", 100));
	CHECK_OK(one_value(&b, 2, "inuse_space", "bytes", 201));
	CHECK_OK(merge_two(&a.p, &b.p, true, &out.p));
	CHECK_INT(out.p.values[0], 301);
}

TEST(profiles_without_the_gauge_do_not_thin_it)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(one_value(&a, 1, "inuse_space", "bytes", -101));
	CHECK_OK(one_value(&b, 2, "cpu", "nanoseconds", 5));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.values[0], -101);
	CHECK_INT(out.p.values[1], 5);
}

TEST(head_is_merged_as_pprof_merges_it)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);
	uint32_t id;

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(made_init(&b, 2));
	a.p.time_ns = 0;
	b.p.time_ns = 700;
	a.p.duration_ns = 30;
	b.p.duration_ns = 12;
	a.p.period = 5;
	b.p.period = 9;
	CHECK_OK(dict_text(&a.dict, "cpu", &a.p.period_type.type));
	CHECK_OK(dict_text(&a.dict, "nanoseconds", &a.p.period_type.unit));
	CHECK_OK(dict_text(&b.dict, "nanoseconds", &b.p.period_type.unit));
	CHECK_OK(dict_text(&b.dict, "cpu", &b.p.period_type.type));
	CHECK_OK(dict_text(&b.dict, "drop", &b.p.drop_frames));
	CHECK_OK(dict_text(&a.dict, "same", &id));
	CHECK_OK(vec_push(&a.p.comments, id));
	CHECK_OK(dict_text(&b.dict, "other", &id));
	CHECK_OK(vec_push(&b.p.comments, id));
	CHECK_OK(dict_text(&b.dict, "same", &id));
	CHECK_OK(vec_push(&b.p.comments, id));
	b.p.default_type = 0;
	a.p.profile_id[3] = 7;
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.time_ns, 700);
	CHECK_INT(out.p.duration_ns, 42);
	CHECK_INT(out.p.period, 9);
	CHECK_STR(dict_str(&out.dict, out.p.period_type.type), "cpu");
	CHECK_STR(dict_str(&out.dict, out.p.drop_frames), "drop");
	CHECK_INT(out.p.comments.n, 2);
	CHECK_STR(dict_str(&out.dict, out.p.comments.v[1]), "other");
	CHECK_INT(out.p.default_type, 0);
	CHECK_INT(out.p.profile_id[3], 0);
}

TEST(several_profiles_of_one_recording_last_as_long_as_one)
{
	CLEANUP(merge_release) struct merge m;
	TARGET(out, 3);
	MADE(cpu);
	MADE(alloc);

	CHECK_OK(one_value(&cpu, 1, "cpu", "nanoseconds", 5));
	CHECK_OK(one_value(&alloc, 2, "alloc_space", "bytes", 7));
	cpu.p.time_ns = alloc.p.time_ns = 1000;
	cpu.p.duration_ns = alloc.p.duration_ns = 60;
	merge_begin(&m, &out.p);
	CHECK_OK(merge_add(&m, &cpu.p));
	CHECK_OK(merge_add(&m, &alloc.p));
	CHECK_INT(out.p.duration_ns, 60);
	/* The same columns again are another program at the same time. */
	CHECK_OK(merge_add(&m, &cpu.p));
	CHECK_OK(merge_add(&m, &alloc.p));
	CHECK_INT(out.p.duration_ns, 120);
	CHECK_OK(merge_finish(&m));
}

TEST(period_of_another_type_is_forgotten)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(made_init(&b, 2));
	a.p.period = b.p.period = 5;
	CHECK_OK(dict_text(&a.dict, "cpu", &a.p.period_type.type));
	CHECK_OK(dict_text(&b.dict, "space", &b.p.period_type.type));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.period, 0);
	CHECK_INT(out.p.period_type.type, 0);
}

static enum err add_mapped(struct profile *p, uint64_t start)
{
	struct mapping mapping = {.start = start, .limit = start + 0x2000, .offset = 0x1000};
	struct frame f = {.address = start + 0x123};
	struct row row = {0};
	int64_t one = 1;
	uint32_t id;

	TRY(dict_text(p->dict, "/bin/shop", &mapping.file));
	TRY(dict_text(p->dict, "abcd", &mapping.build_id));
	TRY(dict_mapping(p->dict, &mapping, &f.mapping));
	TRY(dict_frame(p->dict, &f, &id));
	TRY(dict_stack(p->dict, &id, 1, &row.stack));
	return profile_add(p, &row, &one);
}

static enum err mapped_row(struct made *m, uint64_t seed, uint64_t start)
{
	TRY(made_init(m, seed));
	return add_mapped(&m->p, start);
}

TEST(one_file_mapped_at_two_addresses_is_one_mapping)
{
	MADE(a);
	MADE(b);
	TARGET(out, 3);

	CHECK_OK(mapped_row(&a, 1, 0x10000));
	CHECK_OK(mapped_row(&b, 2, 0x55550000));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.row_count, 1);
	CHECK_INT(out.p.values[0], 2);
	CHECK_INT(out.dict.mappings.n, 2);
}

TEST(one_file_mapped_at_two_addresses_is_one_mapping_in_one_dictionary_too)
{
	MADE(m);
	CLEANUP(profile_release) struct profile q;
	CLEANUP(profile_release) struct profile out;
	uint32_t n;

	CHECK_OK(mapped_row(&m, 1, 0x10000));
	CHECK_OK(maker_row(&m.p, "main", 5));
	profile_init(&q, &m.dict);
	profile_init(&out, &m.dict);
	CHECK_OK(profile_add_type(&q, STR("samples"), STR("count")));
	CHECK_OK(add_mapped(&q, 0x55550000));
	CHECK_OK(maker_row(&q, "main", 6));
	CHECK_OK(merge_two(&m.p, &q, false, &out));
	CHECK_INT(out.row_count, 2);
	CHECK_INT(out.values[0], 2);
	CHECK_INT(out.values[1], 11);
	CHECK_INT(m.dict.frames.v[stack_frames(&m.dict, out.stack[0], &n)[0]].address, 0x10123);
}

TEST(merging_in_any_order_gives_the_same_sums)
{
	MADE(a);
	MADE(b);
	TARGET(ab, 3);
	TARGET(ba, 4);
	uint64_t random = 11;

	CHECK_OK(made_init(&a, 1));
	CHECK_OK(made_init(&b, 2));
	CHECK_OK(maker_random(&a.p, &random, 300, 8, 5, -9, 9));
	CHECK_OK(maker_random(&b.p, &random, 300, 8, 5, -9, 9));
	CHECK_OK(merge_two(&a.p, &b.p, false, &ab.p));
	CHECK_OK(merge_two(&b.p, &a.p, false, &ba.p));
	CHECK_INT(ab.p.row_count, ba.p.row_count);
	CHECK_INT(profile_total(&ab.p, 0), profile_total(&a.p, 0) + profile_total(&b.p, 0));
	CHECK_INT(profile_total(&ba.p, 0), profile_total(&ab.p, 0));
}

/* A number from outside that meets a constant of the hash must not make all rows one chain. */
TEST(rows_with_a_constant_of_the_hash_as_time_do_not_collide)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;
	int64_t one = 1;

	CHECK_OK(made_init(&m, 12345));
	profile_init(&out, &m.dict);
	for (uint32_t i = 0; i < 200000; i++) {
		struct row row = {.link = i, .time = HASH_K2};

		CHECK_OK(profile_add(&m.p, &row, &one));
	}
	CHECK_OK(profile_aggregate(&m.p, 0, &out));
	CHECK_INT(out.row_count, 200000);
}

TEST(empty_merge_leaves_the_target_alone)
{
	TARGET(out, 1);
	CLEANUP(merge_release) struct merge m;

	merge_begin(&m, &out.p);
	CHECK_OK(merge_finish(&m));
	CHECK_INT(out.p.row_count, 0);
}

/* Samples, and CPU time that is computed or measured; of a host. */
static enum err cpu_init(struct made *m, const char *host, bool counts, int64_t value)
{
	struct value_type cpu;

	TRY(dict_init(&m->dict, 1));
	profile_init(&m->p, &m->dict);
	if (counts)
		TRY(profile_add_type(&m->p, STR("samples"), STR("count")));
	TRY(profile_add_type(&m->p, STR("cpu"), STR("nanoseconds")));
	cpu = m->p.types[m->p.type_count - 1];
	m->p.derived = counts ? 2 : 0;
	m->p.period_type = cpu;
	m->p.period = 10;
	TRY(maker_labels(&m->dict, host, &m->p.resource));
	return maker_add(&m->p, "main;x", "", (int64_t[]){counts ? value / 10 : value, value});
}

/* In every order: counts and measured time of host 1, counts alone of host 2. */
TEST(computed_columns_count_for_those_who_have_not_measured)
{
	for (unsigned order = 0; order < 6; order++) {
		CLEANUP(made_release) struct made counts = {0}, measured = {0}, other = {0};
		const struct profile *p[3] = {&counts.p, &measured.p, &other.p}, *swapped;
		CLEANUP(merge_release) struct merge m;
		TARGET(out, 1);

		CHECK_OK(cpu_init(&counts, "host=1", true, 40));
		CHECK_OK(cpu_init(&measured, "host=1", false, 41));
		CHECK_OK(cpu_init(&other, "host=2", true, 100));
		swapped = p[order % 3];
		p[order % 3] = p[0];
		p[0] = swapped;
		if (order >= 3) {
			swapped = p[1];
			p[1] = p[2];
			p[2] = swapped;
		}
		merge_begin(&m, &out.p);
		for (unsigned i = 0; i < 3; i++)
			CHECK_OK(merge_add(&m, p[i]));
		CHECK_OK(merge_finish(&m));
		CHECK_INT(out.p.type_count, 2);
		CHECK_INT(out.p.derived, 0);
		for (uint32_t t = 0; t < 2; t++)
			CHECK_INT(profile_total(&out.p, t),
				  str_eq(dict_str(&out.dict, out.p.types[t].type), STR("cpu"))
					  ? 141
					  : 14);
	}
}

TEST(computed_columns_alone_stay_and_say_what_they_are)
{
	CLEANUP(made_release) struct made a = {0}, b = {0};
	TARGET(out, 1);

	CHECK_OK(cpu_init(&a, "host=1", true, 40));
	CHECK_OK(cpu_init(&b, "host=1", true, 60));
	CHECK_OK(merge_two(&a.p, &b.p, false, &out.p));
	CHECK_INT(out.p.type_count, 2);
	CHECK_INT(out.p.derived, 2);
	CHECK_INT(profile_total(&out.p, 1), 100);
	CHECK_INT(profile_default_type(&out.p), 1);
}

static enum err merge_sweep(const struct profile *a, const struct profile *b)
{
	CLEANUP(made_release) struct made out = {0};

	TRY(dict_init(&out.dict, 1));
	profile_init(&out.p, &out.dict);
	return merge_two(a, b, false, &out.p);
}

TEST(merge_survives_any_allocation_failing)
{
	MADE(a);
	MADE(b);

	CHECK_OK(mapped_row(&a, 1, 0x1000));
	CHECK_OK(mapped_row(&b, 2, 0x2000));
	CHECK_OK(maker_row(&a.p, "main;x", 1));
	CHECK_OK(profile_add_type(&b.p, STR("cpu"), STR("ns")));
	b.p.row_count = 0;
	CHECK_OK(maker_labels(&a.dict, "service=x,host=1", &a.p.resource));
	CHECK_OK(maker_labels(&b.dict, "service=x,host=2", &b.p.resource));
	CHECK_OK(vec_push(&a.p.comments, 1));
	ALLOC_SWEEP(merge_sweep(&a.p, &b.p));
}

TEST(aggregate_joins_rows_and_drops_what_is_asked)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;

	CHECK_OK(made_init(&m, 1));
	profile_init(&out, &m.dict);
	CHECK_OK(maker_add(&m.p, "a", "k=1", (int64_t[]){1}));
	CHECK_OK(maker_add(&m.p, "a", "k=1", (int64_t[]){2}));
	CHECK_OK(maker_add(&m.p, "a", "k=2", (int64_t[]){4}));
	CHECK_OK(maker_add(&m.p, "b", "", (int64_t[]){8}));
	CHECK_OK(maker_add(&m.p, "b", "", (int64_t[]){-8}));
	m.p.time_ns = 77;
	CHECK_OK(profile_aggregate(&m.p, 0, &out));
	CHECK_INT(out.row_count, 3);
	CHECK_INT(out.time_ns, 77);
	profile_release(&out);
	CHECK_OK(profile_aggregate(&m.p, AGGREGATE_DROP_ZERO | AGGREGATE_IGNORE_LABELS, &out));
	CHECK_INT(out.row_count, 1);
	CHECK_INT(out.values[0], 7);
}

TEST(aggregate_keeps_times_and_links_unless_told)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;
	struct row row = {.time = 5};
	struct link link = {.span_id = {1}};
	int64_t one = 1;

	CHECK_OK(made_init(&m, 1));
	profile_init(&out, &m.dict);
	CHECK_OK(profile_add(&m.p, &row, &one));
	row.time = 6;
	CHECK_OK(profile_add(&m.p, &row, &one));
	CHECK_OK(dict_link(&m.dict, &link, &row.link));
	CHECK_OK(profile_add(&m.p, &row, &one));
	CHECK_OK(profile_aggregate(&m.p, 0, &out));
	CHECK_INT(out.row_count, 3);
	CHECK_INT(out.time[1], 6);
	CHECK_INT(out.link[2], row.link);
	profile_release(&out);
	CHECK_OK(profile_aggregate(&m.p, AGGREGATE_IGNORE_TIME, &out));
	CHECK_INT(out.row_count, 2);
	profile_release(&out);
	CHECK_OK(profile_aggregate(&m.p, AGGREGATE_IGNORE_TIME | AGGREGATE_IGNORE_LABELS, &out));
	CHECK_INT(out.row_count, 1);
	CHECK_INT(out.values[0], 3);
}

TEST(scale_rounds_to_nearest_and_stays_in_range)
{
	MADE(m);
	double factor = 0.5;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "a", 3));
	CHECK_OK(maker_row(&m.p, "b", -5));
	CHECK_OK(profile_scale(&m.p, &factor));
	CHECK_INT(m.p.values[0], 2);
	CHECK_INT(m.p.values[1], -3);
	factor = 1e300;
	CHECK_OK(profile_scale(&m.p, &factor));
	CHECK(m.p.values[0] == INT64_MAX);
	CHECK(m.p.values[1] == INT64_MIN);
	factor = 1;
	CHECK_OK(profile_scale(&m.p, &factor));
	CHECK(m.p.values[0] == INT64_MAX);
}

TEST(subtract_takes_rows_away)
{
	MADE(m);
	CLEANUP(profile_release) struct profile base;

	CHECK_OK(made_init(&m, 1));
	profile_init(&base, &m.dict);
	CHECK_OK(profile_add_type(&base, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(profile_add_type(&base, STR("samples"), STR("count")));
	CHECK_OK(maker_row(&m.p, "a", 3));
	CHECK_OK(maker_row(&m.p, "b", 5));
	CHECK_OK(maker_add(&base, "a", "", (int64_t[]){0, 3}));
	CHECK_OK(maker_add(&base, "b", "", (int64_t[]){70, 1}));
	CHECK_OK(maker_add(&base, "c", "", (int64_t[]){0, INT64_MIN}));
	CHECK_OK(profile_subtract(&m.p, &base));
	CHECK_INT(m.p.row_count, 2);
	CHECK_INT(m.p.type_count, 2);
	CHECK_INT(value_of(&m.p, "b", "", 0), 4);
	CHECK_INT(value_of(&m.p, "b", "", 1), -70);
	CHECK(value_of(&m.p, "c", "", 0) == INT64_MAX);
	CHECK_INT(profile_default_type(&m.p), 0);
}

static enum err aggregate_and_subtract(void)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out = {0};

	TRY(made_init(&m, 1));
	TRY(maker_row(&m.p, "a;b", 3));
	TRY(maker_row(&m.p, "a;b", 3));
	TRY(vec_push(&m.p.comments, 1));
	TRY(profile_aggregate(&m.p, 0, &out));
	return profile_subtract(&m.p, &out);
}

TEST(aggregate_survives_any_allocation_failing)
{
	ALLOC_SWEEP(aggregate_and_subtract());
}
