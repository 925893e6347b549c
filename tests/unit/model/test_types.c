#include "../test.h"

#include <float.h>

#include "base/buf.h"
#include "model/model.h"

#define CHECK_FORMAT(value, unit, expected)                          \
	do {                                                         \
		CLEANUP(buf_release) struct buf b_ = BUF_INIT(4096); \
		unit_format(&b_, value, str_of(unit));               \
		CHECK_STR(buf_view(&b_), expected);                  \
	} while (0)

TEST(every_type_is_found_by_each_of_its_names)
{
	for (size_t i = 0; i < profile_type_count; i++) {
		const struct profile_type *t = &profile_types[i];

		CHECK(type_by_name(str_of(t->name)) == t);
		CHECK(type_by_name(str_of(t->pyroscope)) == t);
		CHECK(type_by_value(str_of(t->type), str_of(t->unit)) == t);
		CHECK(type_by_value(str_of(t->type), STR("")) == t);
	}
}

TEST(short_names_and_values_are_given_once)
{
	for (size_t i = 0; i < profile_type_count; i++) {
		for (size_t j = 0; j < i; j++) {
			CHECK(strcmp(profile_types[i].name, profile_types[j].name) != 0);
			CHECK(strcmp(profile_types[i].pyroscope, profile_types[j].pyroscope) != 0);
		}
	}
}

TEST(levels_are_gauges_and_amounts_are_not)
{
	CHECK(type_is_gauge(STR("inuse_space"), STR("bytes")));
	CHECK(type_is_gauge(STR("inuse_space"), STR("kilobytes")));
	CHECK(type_is_gauge(STR("goroutine"), STR("count")));
	CHECK(!type_is_gauge(STR("alloc_space"), STR("bytes")));
	CHECK(!type_is_gauge(STR("cpu"), STR("nanoseconds")));
	CHECK(!type_is_gauge(STR("whatever"), STR("count")));
}

TEST(units_of_the_same_kind_match_a_type_and_others_do_not)
{
	CHECK(type_by_value(STR("cpu"), STR("microseconds")) != NULL);
	CHECK(type_by_value(STR("cpu"), STR("bytes")) == NULL);
	CHECK(type_by_value(STR("nothing"), STR("count")) == NULL);
	CHECK(type_by_name(STR("nothing")) == NULL);
}

TEST(units_have_kinds_and_factors)
{
	double factor;

	CHECK_INT(unit_kind(STR("nanoseconds"), &factor), UNIT_TIME);
	CHECK(factor == 1);
	CHECK_INT(unit_kind(STR("Milliseconds"), &factor), UNIT_TIME);
	CHECK(factor == 1e6);
	CHECK_INT(unit_kind(STR("s"), &factor), UNIT_TIME);
	CHECK(factor == 1e9);
	CHECK_INT(unit_kind(STR("KiB"), &factor), UNIT_BYTES);
	CHECK(factor == 1024);
	CHECK_INT(unit_kind(STR("objects"), &factor), UNIT_COUNT);
	CHECK_INT(unit_kind(STR("cycles"), &factor), UNIT_OTHER);
	CHECK_INT(unit_kind(STR(""), &factor), UNIT_OTHER);
	CHECK_INT(unit_kind(STR("n"), &factor), UNIT_OTHER);
	CHECK(factor == 1);
}

TEST(values_are_shown_as_people_read_them)
{
	CHECK_FORMAT(0, "nanoseconds", "0");
	CHECK_FORMAT(999, "nanoseconds", "999ns");
	CHECK_FORMAT(1250000000, "nanoseconds", "1.25s");
	CHECK_FORMAT(-1500, "microseconds", "-1.50ms");
	CHECK_FORMAT(90, "minutes", "1.50hrs");
	CHECK_FORMAT(1023, "bytes", "1023B");
	CHECK_FORMAT(356515840, "bytes", "340MB");
	CHECK_FORMAT(1.5 * 1024, "gigabytes", "1.50TB");
	CHECK_FORMAT(1234, "count", "1234");
	CHECK_FORMAT(7, "cycles", "7 cycles");
	CHECK_FORMAT(7, "", "7");
}

TEST(largest_numbers_fit)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4096);

	unit_format(&b, -DBL_MAX, STR("count"));
	CHECK_INT(b.n, 310);
	buf_clear(&b);
	unit_format(&b, (double)INT64_MIN, STR("hours"));
	CHECK_STR(buf_view(&b), "-9223372036854775808hrs");
}

TEST(a_unit_that_is_named_like_the_mark_of_computed_types_is_one)
{
	const struct str plain = STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	const struct str named = STR("process_cpu:cpu:nanoseconds:cpu:derived");

	CHECK_STR(type_shown(named), "process_cpu:cpu:nanoseconds:cpu:derived");
	CHECK(!type_is_derived(named));
	CHECK_STR(type_shown(STR("process_cpu:cpu:nanoseconds:cpu:derived:derived")),
		  "process_cpu:cpu:nanoseconds:cpu:derived");
	CHECK_STR(type_shown(plain), "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	CHECK_STR(type_shown(STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds:derived")),
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
}
