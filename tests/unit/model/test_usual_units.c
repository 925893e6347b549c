#include "../test.h"

#include "model/model.h"

struct made {
	struct dict d;
	struct profile p;
};

static enum err made_init(struct made *m, const char *type, const char *unit)
{
	TRY(dict_init(&m->d, 1));
	profile_init(&m->p, &m->d);
	return profile_add_type(&m->p, str_of(type), str_of(unit));
}

static void made_release(struct made *m)
{
	profile_release(&m->p);
	dict_release(&m->d);
}

static enum err add(struct made *m, int64_t value)
{
	struct row row = {0};

	return profile_add(&m->p, &row, &value);
}

TEST(every_spelling_of_a_time_becomes_nanoseconds)
{
	static const struct {
		const char *unit;
		int64_t factor;
	} cases[] = {
		{"ns", 1},
		{"nanoseconds", 1},
		{"us", 1000},
		{"\xc2\xb5s", 1000},
		{"\xce\xbcs", 1000},
		{"usecs", 1000},
		{"Microseconds", 1000},
		{"ms", 1000000},
		{"milliseconds", 1000000},
		{"s", 1000000000},
		{"seconds", 1000000000},
		{"min", 60000000000},
		{"hours", 3600000000000},
		{"days", 86400000000000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(made_release) struct made m;
		uint64_t clamped = 9;

		CHECK_OK(made_init(&m, "cpu", cases[i].unit));
		CHECK_OK(add(&m, 7));
		m.p.period_type = m.p.types[0];
		m.p.period = 3;
		CHECK_OK(profile_usual_units(&m.p, &clamped));
		CHECK_STR(dict_str(&m.d, m.p.types[0].unit), "nanoseconds");
		CHECK_STR(dict_str(&m.d, m.p.period_type.unit), "nanoseconds");
		CHECK_INT(m.p.values[0], 7 * cases[i].factor);
		CHECK_INT(m.p.period, 3 * cases[i].factor);
		CHECK_INT(clamped, 0);
	}
}

TEST(sizes_become_bytes_and_counts_stay)
{
	static const struct {
		const char *unit;
		const char *usual;
		int64_t factor;
	} cases[] = {
		{"B", "bytes", 1},	     {"By", "bytes", 1},
		{"kb", "bytes", 1024},	     {"KiB", "bytes", 1024},
		{"KiBy", "bytes", 1024},     {"kBy", "bytes", 1000},
		{"MiB", "bytes", 1 << 20},   {"megabytes", "bytes", 1 << 20},
		{"GiB", "bytes", 1 << 30},   {"TiB", "bytes", INT64_C(1) << 40},
		{"count", "count", 1},	     {"objects", "objects", 1},
		{"profilos", "profilos", 1}, {"", "", 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(made_release) struct made m;
		uint64_t clamped;

		CHECK_OK(made_init(&m, "x", cases[i].unit));
		CHECK_OK(add(&m, -5));
		CHECK_OK(profile_usual_units(&m.p, &clamped));
		CHECK_STR(dict_str(&m.d, m.p.types[0].unit), cases[i].usual);
		CHECK_INT(m.p.values[0], -5 * cases[i].factor);
	}
}

TEST(values_that_do_not_fit_stay_at_the_ends_and_are_counted)
{
	CLEANUP(made_release) struct made m;
	uint64_t clamped;

	CHECK_OK(made_init(&m, "cpu", "s"));
	CHECK_OK(add(&m, INT64_MAX / 1000));
	CHECK_OK(add(&m, INT64_MIN / 1000));
	CHECK_OK(add(&m, 2));
	CHECK_OK(profile_usual_units(&m.p, &clamped));
	CHECK(m.p.values[0] == INT64_MAX);
	CHECK(m.p.values[1] == INT64_MIN);
	CHECK_INT(m.p.values[2], 2000000000);
	CHECK_INT(clamped, 2);
}

TEST(parts_of_the_usual_unit_are_rounded_so_that_the_sum_stays)
{
	CLEANUP(made_release) struct made m;
	int64_t bits = 0, bytes = 0;
	uint64_t clamped;

	CHECK_OK(made_init(&m, "sent", "bits"));
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(add(&m, i % 7));
		bits += i % 7;
	}
	CHECK_OK(profile_usual_units(&m.p, &clamped));
	for (int i = 0; i < 1000; i++) {
		CHECK(m.p.values[i] >= 0);
		bytes += m.p.values[i];
	}
	CHECK_INT(bytes, (bits + 4) / 8);
	CHECK_STR(dict_str(&m.d, m.p.types[0].unit), "bytes");
}

static enum err convert_once(void)
{
	CLEANUP(made_release) struct made m = {0};
	uint64_t clamped;

	TRY(made_init(&m, "cpu", "ms"));
	m.p.period_type = m.p.types[0];
	TRY(add(&m, 1));
	return profile_usual_units(&m.p, &clamped);
}

TEST(conversion_survives_every_failing_allocation)
{
	ALLOC_SWEEP(convert_once());
}
