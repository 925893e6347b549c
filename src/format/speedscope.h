/*
 * speedscope's file format, https://www.speedscope.app/file-format-schema.json:
 *
 *	{"$schema": …, "name", "exporter", "activeProfileIndex",
 *	 "shared": {"frames": [{"name", "file", "line", "col"} …]},
 *	 "profiles": [{"type": "sampled", "name", "unit", "startValue", "endValue",
 *	               "samples": [[frame …, root first] …], "weights": [number …]} |
 *	              {"type": "evented", "name", "unit", "startValue", "endValue",
 *	               "events": [{"type": "O" or "C", "frame", "at"} …]}]}
 *
 * Private to speedscope_*.c.
 */
#pragma once

#include "format/fractions.h"
#include "format/json.h"

#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* A unit of speedscope, and what its values become in the model. */
struct scope_unit {
	const char *name;
	const char *type, *unit; /* in the model */
	int64_t factor;
};

/* One entry of "profiles", before its samples or events are read. */
struct scope_profile {
	enum { SCOPE_UNKNOWN, SCOPE_SAMPLED, SCOPE_EVENTED } type;
	const struct scope_unit *unit;
	uint32_t name; /* string */
	size_t offset;
	struct json_mark start, end, samples, weights, events;
};

/* Where the rows of one sample type go. */
struct scope_target {
	struct profile *profile;
	struct map rows; /* (stack, labels) -> row */
	struct fractions fractions;
};

struct scope {
	struct json j;
	struct reading *out;
	VEC(uint32_t) frames; /* of "shared": ids in the dictionary */
	VEC(uint32_t) path;
	struct scope_target targets[PROFILE_MAX_TYPES];
	uint32_t target_count;
	struct scope_target *target; /* of the rows being made */
	uint32_t labels;	     /* theirs */
	uint64_t negative;
};

/* A value in the model's unit; false (and the walk fails) when it does not fit. */
bool scope_value(struct json *j, const struct scope_unit *unit, int64_t *ret);
/* A weight: its whole part, and what is behind it. */
bool scope_weight(struct json *j, const struct scope_unit *unit, int64_t *ret, double *ret_rest);
/* Takes an index into shared.frames and gives the frame; false when the walk fails. */
bool scope_frame(struct scope *s, uint32_t *ret);
/* Adds to the row of a stack. */
enum err scope_add(struct scope *s, uint32_t stack, int64_t value, double rest) MUST_CHECK;

/* Read the marked samples or events of a profile into s->target. */
enum err scope_read_sampled(struct scope *s, const struct scope_profile *p) MUST_CHECK;
enum err scope_read_evented(struct scope *s, const struct scope_profile *p) MUST_CHECK;
