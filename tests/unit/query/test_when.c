#include "../test.h"

#include "query/query.h"

#define NOW 1763200000000000000LL /* 2025-11-15T09:46:40Z */

static int64_t when(const char *text)
{
	int64_t ns;

	return when_parse(str_of(text), NOW, &ns, NULL) == ERR_OK ? ns : -1;
}

static int64_t duration(const char *text)
{
	int64_t ns;

	return duration_parse(str_of(text), &ns, NULL) == ERR_OK ? ns : -1;
}

TEST(relative_times_count_from_now)
{
	CHECK_INT(when("now"), NOW);
	CHECK_INT(when("-1h"), NOW - 3600000000000LL);
	CHECK_INT(when("now-1h30m"), NOW - 5400000000000LL);
	CHECK_INT(when("now+5s"), NOW + 5000000000LL);
	CHECK_INT(when("-250ms"), NOW - 250000000LL);
	CHECK_INT(when("-2w"), NOW - 14 * 86400000000000LL);
}

TEST(dates_are_rfc3339_or_less)
{
	CHECK_INT(when("2025-11-15T09:46:40Z"), NOW);
	CHECK_INT(when("2025-11-15 09:46:40"), NOW);
	CHECK_INT(when("2025-11-15T10:46:40.5+01:00"), NOW + 500000000);
	CHECK_INT(when("2025-11-15T04:16:40-05:30"), NOW);
	CHECK_INT(when("2025-11-15T09:46Z"), NOW - 40000000000LL);
	CHECK_INT(when("2025-11-15 09:46"), NOW - 40000000000LL);
	CHECK_INT(when("1970-01-01"), 0);
}

TEST(numbers_tell_their_unit_by_their_length)
{
	CHECK_INT(when("1763200000"), NOW);
	CHECK_INT(when("1763200000000"), NOW);
	CHECK_INT(when("1763200000000000"), NOW);
	CHECK_INT(when("1763200000000000000"), NOW);
	CHECK_INT(when("1763200000.25"), NOW + 250000000);
}

TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = {"",
					  "yesterday",
					  "2025-13-01",
					  "2025-11-15T25:00:00Z",
					  "2025-11-15T09:46:40Zx",
					  "now1h",
					  "-",
					  "-1q",
					  "1e400",
					  "99999999999999999999",
					  "-99999999999w",
					  "2025-11-15T"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (when(bad[i]) != -1)
			test_fail(__FILE__, __LINE__, "%s was taken", bad[i]);
}

TEST(durations)
{
	CHECK_INT(duration("90"), 90000000000LL);
	CHECK_INT(duration("1.5h"), 5400000000000LL);
	CHECK_INT(duration("1h30m"), 5400000000000LL);
	CHECK_INT(duration("10min"), 600000000000LL);
	CHECK_INT(duration("20µs"), 20000);
	CHECK_INT(duration("14d"), 14 * 86400000000000LL);
	CHECK_INT(duration("-1h"), -1);
	CHECK_INT(duration("1h30"), 3630000000000LL);
	CHECK_INT(duration("h"), -1);
	CHECK_INT(duration("1x"), -1);
	CHECK_INT(duration("1.2.3s"), -1);
}
