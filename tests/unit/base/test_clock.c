#include "test.h"

#include <stdlib.h>

#include "base/clock.h"

static const char *format_ns(int64_t ns, int digits)
{
	static char text[CLOCK_TEXT_SIZE];

	return clock_format(ns, digits, text);
}

TEST(clocks_go_forward)
{
	int64_t a = clock_monotonic_ns(), b = clock_monotonic_ns();

	CHECK(a > 0 && b >= a);
	CHECK(clock_wall_ns() > 1600000000 * NS_PER_S);
	CHECK(clock_process_cpu_ns() > 0);
}

TEST(sleep_lasts_at_least_as_long_as_asked)
{
	int64_t begin = clock_monotonic_ns();

	clock_sleep_ns(2 * NS_PER_MS);
	CHECK(clock_monotonic_ns() - begin >= 2 * NS_PER_MS);
	clock_sleep_ns(0);
	clock_sleep_ns(-5);
}

TEST(times_are_printed_in_utc_with_the_digits_asked_for)
{
	CHECK(!strcmp(format_ns(0, 0), "1970-01-01T00:00:00Z"));
	CHECK(!strcmp(format_ns(1709210096123456789, 9), "2024-02-29T12:34:56.123456789Z"));
	CHECK(!strcmp(format_ns(1709210096123456789, 3), "2024-02-29T12:34:56.123Z"));
	CHECK(!strcmp(format_ns(1709210096999999999, 0), "2024-02-29T12:34:56Z"));
	CHECK(!strcmp(format_ns(1709210096000000000, 99), "2024-02-29T12:34:56.000000000Z"));
	CHECK(!strcmp(format_ns(1709210096000000000, -1), "2024-02-29T12:34:56Z"));
}

TEST(times_before_1970_and_at_the_ends_of_64_bits_are_printed)
{
	CHECK(!strcmp(format_ns(-1, 9), "1969-12-31T23:59:59.999999999Z"));
	CHECK(!strcmp(format_ns(INT64_MIN, 9), "1677-09-21T00:12:43.145224192Z"));
	CHECK(!strcmp(format_ns(INT64_MAX, 9), "2262-04-11T23:47:16.854775807Z"));
}

TEST(what_is_printed_is_parsed_back)
{
	int64_t ns = -9100000000000000000, back;

	for (int i = 0; i < 1000; i++, ns += 18199999999999999) {
		CHECK_OK(clock_parse(str_of(format_ns(ns, 9)), &back));
		CHECK_INT(back, ns);
	}
}

TEST(offsets_and_fractions_are_understood)
{
	int64_t ns = 0;

	CHECK_OK(clock_parse(STR("2024-02-29T14:34:56+02:00"), &ns));
	CHECK_INT(ns, 1709210096000000000);
	CHECK_OK(clock_parse(STR("2024-02-29t04:04:56.5-08:30"), &ns));
	CHECK_INT(ns, 1709210096500000000);
	CHECK_OK(clock_parse(STR("2024-02-29 12:34:56.1234567899999z"), &ns));
	CHECK_INT(ns, 1709210096123456789);
	CHECK_OK(clock_parse(STR("2016-12-31T23:59:60Z"), &ns));
	CHECK_INT(ns, 1483228799000000000);
}

TEST(what_is_not_a_time_is_refused)
{
	static const char *const bad[] = {
		"",
		"2024",
		"2024-02-30T00:00:00Z",
		"2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2024-13-01T00:00:00Z",
		"2024-00-01T00:00:00Z",
		"2024-01-00T00:00:00Z",
		"2024-01-01T24:00:00Z",
		"2024-01-01T00:60:00Z",
		"2024-01-01T00:00:61Z",
		"2024-01-01T00:00:00",
		"2024-01-01T00:00:00.Z",
		"2024-01-01T00:00:00+2:00",
		"2024-01-01T00:00:00+24:00",
		"2024-01-01T00:00:00Zx",
		"1677-01-01T00:00:00Z",
		"2262-01-01T00:00:00Z",
		"+024-01-01T00:00:00Z",
		"2024-01-01X00:00:00Z",
	};
	int64_t ns = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(clock_parse(str_of(bad[i]), &ns), ERR_CORRUPT);
	CHECK_ERR(clock_parse(STR("2024-01-01\0"
				  "00:00:00Z"),
			      &ns),
		  ERR_CORRUPT);
	CHECK_INT(ns, 7);
}
