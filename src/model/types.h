/*
 * The one table of profile types (types.def): the names of a type in the UI, in Pyroscope, in pprof
 * and OTLP, and whether its values may be summed over time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum type_kind {
	TYPE_SUM,   /* an amount per window: windows add up */
	TYPE_GAUGE, /* a level: averaged over time, never summed */
};

struct profile_type {
	const char *name;      /* short name: "heap" */
	const char *pyroscope; /* "memory:inuse_space:bytes:space:bytes" */
	const char *type;      /* "inuse_space" */
	const char *unit;      /* "bytes" */
	enum type_kind kind;
};

extern const struct profile_type profile_types[];
extern const size_t profile_type_count;

/* By type and unit as in files; NULL if it is not in the table. Units of the same kind match
 * (nanoseconds, microseconds; bytes, kilobytes), and an empty unit matches any. */
const struct profile_type *type_by_value(struct str type, struct str unit);
/* By short name, type name or Pyroscope id, for --type. */
const struct profile_type *type_by_name(struct str name);
bool type_is_gauge(struct str type, struct str unit);

/* The factor of a unit to the base unit of its kind. */
enum unit_kind { UNIT_OTHER, UNIT_TIME, UNIT_BYTES, UNIT_COUNT };
enum unit_kind unit_kind(struct str unit, double *ret_factor);

/*
 * Suffix of the stored id of a column that was derived from counts and their period. It is used
 * while there is no measured column of that id, and never shown.
 */
#define TYPE_DERIVED ":derived"
/* The id without this suffix. */
struct str type_shown(struct str id);
static inline bool type_is_derived(struct str id)
{
	return type_shown(id).n != id.n;
}

struct buf;
/* A value as text: "1.25s", "340.50MB", "1234". `unit` as in files. */
void unit_format(struct buf *out, double value, struct str unit);
