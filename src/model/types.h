/*
 * The one table of profile types (types.def): what a type is called by people, by Pyroscope, by
 * pprof and OTLP, and whether its values may be added up over time.
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
	const char *name;      /* short, for people: "heap" */
	const char *pyroscope; /* "memory:inuse_space:bytes:space:bytes" */
	const char *type;      /* "inuse_space" */
	const char *unit;      /* "bytes" */
	enum type_kind kind;
};

extern const struct profile_type profile_types[];
extern const size_t profile_type_count;

/* By type and unit as files carry them; NULL when the table does not know it. Units of the same
 * kind match (nanoseconds, microseconds; bytes, kilobytes), and an empty unit matches any. */
const struct profile_type *type_by_value(struct str type, struct str unit);
/* By short name, type name or Pyroscope id: what a person may write after --type. */
const struct profile_type *type_by_name(struct str name);
bool type_is_gauge(struct str type, struct str unit);

/* What one unit is in the base unit of its kind. */
enum unit_kind { UNIT_OTHER, UNIT_TIME, UNIT_BYTES, UNIT_COUNT };
enum unit_kind unit_kind(struct str unit, double *ret_factor);

/*
 * Behind the id of a column that was computed from counts and their period, where it is stored: it
 * stands in for the measured one of that id as long as there is none. Nobody is shown it.
 */
#define TYPE_DERIVED ":derived"
/* The id without it. */
struct str type_shown(struct str id);
static inline bool type_is_derived(struct str id)
{
	return type_shown(id).n != id.n;
}

struct buf;
/* A value as people read it: "1.25s", "340.50MB", "1234". `unit` as files carry it. */
void unit_format(struct buf *out, double value, struct str unit);
