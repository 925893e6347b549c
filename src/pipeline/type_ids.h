/*
 * Type ids: Pyroscope's five parts, "process_cpu:cpu:nanoseconds:cpu:nanoseconds". The first is the
 * name of the profile, the others describe the column.
 */
#pragma once

#include "base/arena.h"
#include "model/model.h"

struct type_words {
	struct str name, type, unit, period_type, period_unit;
};

/* The parts of a column's id without the name; valid until the dictionary grows. */
struct type_words type_words_of(const struct profile *p, uint32_t column);

/* The id. Characters that would break it or a selector (":", "{", blanks …) become "_". */
enum err type_id_make(struct arena *a, const struct type_words *w, struct str *ret) MUST_CHECK;

/* The same for Pyroscope's clients: "-" in a type becomes "_", godeltaprof's names lose their
 * prefix, and CPU time next to wall time is process_cpu. */
enum err type_id_make_pyroscope(struct arena *a, const struct type_words *w,
				struct str *ret) MUST_CHECK;

/* The column names requested by a client (sample_type_config). */
struct display_names {
	bool given; /* if not set: Pyroscope's default */
	uint32_t n;
	struct label_pair v[PROFILE_MAX_TYPES]; /* type and its display name */
};

/* The name of a pprof profile from its types, by Pyroscope's rules for /ingest: valid until the
 * dictionary grows. */
struct str type_name_of_pprof(const struct profile *p, const struct display_names *names);

/* The name of a profile without one: that of the type table, else that of its period. */
struct str type_name_of_column(const struct profile *p, uint32_t column);
/* The id of a column of such a profile. Without a period, a known type has the id of the type
 * table; derived columns are marked (TYPE_DERIVED). */
enum err type_id_of_column(struct arena *a, const struct profile *p, uint32_t column,
			   struct str *ret) MUST_CHECK;
