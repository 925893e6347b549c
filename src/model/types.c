#include "model/types.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"

const struct profile_type profile_types[] = {
#define TYPE(name, pyroscope, type, unit, kind) {name, pyroscope, type, unit, TYPE_##kind},
#include "model/types.def"
#undef TYPE
};
const size_t profile_type_count = sizeof(profile_types) / sizeof(profile_types[0]);

struct unit {
	const char *names; /* space-separated */
	enum unit_kind kind;
	double factor;
};

/* Without regard to case. Both signs that are read as "micro" occur. */
static const struct unit units[] = {
	{"ns nsec nsecs nanosecond nanoseconds", UNIT_TIME, 1},
	{"us µs μs usec usecs microsecond microseconds", UNIT_TIME, 1e3},
	{"ms msec msecs millisecond milliseconds", UNIT_TIME, 1e6},
	{"s sec secs second seconds", UNIT_TIME, 1e9},
	{"min mins minute minutes", UNIT_TIME, 60e9},
	{"h hr hrs hour hours", UNIT_TIME, 3600e9},
	{"day days", UNIT_TIME, 86400e9},
	{"ps psec picosecond picoseconds", UNIT_TIME, 1.0 / 1000},
	{"b byte bytes by", UNIT_BYTES, 1},
	{"kb kbyte kilobyte kilobytes kbytes kib kibyte kibytes kiby kibibyte kibibytes",
	 UNIT_BYTES, 1024},
	{"mb mbyte megabyte megabytes mbytes mib mibyte mibytes miby mebibyte mebibytes",
	 UNIT_BYTES, 1024.0 * 1024},
	{"gb gbyte gigabyte gigabytes gbytes gib gibyte gibytes giby gibibyte gibibytes",
	 UNIT_BYTES, 1024.0 * 1024 * 1024},
	{"tb tbyte terabyte terabytes tbytes tib tibyte tibytes tiby tebibyte tebibytes",
	 UNIT_BYTES, 1024.0 * 1024 * 1024 * 1024},
	/* UCUM, which OpenTelemetry writes units in, has these in thousands. */
	{"kby", UNIT_BYTES, 1e3},
	{"mby", UNIT_BYTES, 1e6},
	{"gby", UNIT_BYTES, 1e9},
	{"bit bits", UNIT_BYTES, 1.0 / 8},
	{"count counts object objects sample samples 1 events event threads goroutine goroutines",
	 UNIT_COUNT, 1},
};

static bool word_in_list(const char *list, struct str word)
{
	struct str rest = str_of(list), part;

	while (str_split(&rest, ' ', &part))
		if (part.n == word.n && strncasecmp(part.p, word.p, word.n) == 0)
			return true;
	return false;
}

enum unit_kind unit_kind(struct str unit, double *ret_factor)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!word_in_list(units[i].names, unit))
			continue;
		*ret_factor = units[i].factor;
		return units[i].kind;
	}
	*ret_factor = 1;
	return UNIT_OTHER;
}

static bool units_agree(struct str a, struct str b)
{
	double factor;
	enum unit_kind kind = unit_kind(a, &factor);

	return !a.n || !b.n || str_eq(a, b) ||
	       (kind != UNIT_OTHER && kind == unit_kind(b, &factor));
}

const struct profile_type *type_by_value(struct str type, struct str unit)
{
	for (size_t i = 0; i < profile_type_count; i++)
		if (str_eq(str_of(profile_types[i].type), type) &&
		    units_agree(unit, str_of(profile_types[i].unit)))
			return &profile_types[i];
	return NULL;
}

const struct profile_type *type_by_name(struct str name)
{
	for (size_t i = 0; i < profile_type_count; i++) {
		const struct profile_type *t = &profile_types[i];

		if (str_eq(str_of(t->name), name) || str_eq(str_of(t->pyroscope), name))
			return t;
	}
	return type_by_value(name, STR(""));
}

struct str type_shown(struct str id)
{
	const struct str mark = STR(TYPE_DERIVED);
	size_t colons = 0;

	if (id.n < mark.n || !str_eq(str_skip(id, id.n - mark.n), mark))
		return id;
	/* It follows five parts, because a client may use the same text as a unit. */
	for (size_t i = 0; i < id.n; i++)
		colons += id.p[i] == ':';
	if (colons == 5)
		id.n -= mark.n;
	return id;
}

bool type_is_gauge(struct str type, struct str unit)
{
	const struct profile_type *t = type_by_value(type, unit);

	return t && t->kind == TYPE_GAUGE;
}

struct step {
	double size;
	const char *name;
};

static const struct step time_steps[] = {
	{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "mins"}, {3600e9, "hrs"}, {0, NULL},
};
static const struct step byte_steps[] = {
	{1, "B"},
	{1024, "kB"},
	{1024.0 * 1024, "MB"},
	{1024.0 * 1024 * 1024, "GB"},
	{1024.0 * 1024 * 1024 * 1024, "TB"},
	{0, NULL},
};

/* At most two decimals, none when they are zero. */
static void put_number(struct buf *out, double value)
{
	char text[DBL_MAX_10_EXP + 16];
	int n = snprintf(text, sizeof(text), "%.2f", value);

	if (n > 3 && memcmp(text + n - 3, ".00", 3) == 0)
		n -= 3;
	buf_append(out, text, (size_t)n);
}

void unit_format(struct buf *out, double value, struct str unit)
{
	double factor, base;
	enum unit_kind kind = unit_kind(unit, &factor);
	const struct step *step;

	if (kind == UNIT_OTHER || kind == UNIT_COUNT || value == 0) {
		put_number(out, value);
		if (kind == UNIT_OTHER && unit.n && value != 0) {
			buf_byte(out, ' ');
			buf_str(out, unit);
		}
		return;
	}
	base = value * factor;
	step = kind == UNIT_TIME ? time_steps : byte_steps;
	while (step[1].name && fabs(base) >= step[1].size)
		step++;
	put_number(out, base / step->size);
	buf_text(out, step->name);
}
