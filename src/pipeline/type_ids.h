/*
 * How profiles are called: Pyroscope's five parts, "process_cpu:cpu:nanoseconds:cpu:nanoseconds".
 * The first is the name of the profile, the others are what its column says about itself.
 */
#pragma once

#include "base/arena.h"
#include "model/model.h"

struct type_words {
	struct str name, type, unit, period_type, period_unit;
};

/* The words of a column but the name, as the profile has them: valid until the dictionary grows. */
struct type_words type_words_of(const struct profile *p, uint32_t column);

/* The id. What would tear it apart or a selector around it (":", "{", a blank …) becomes "_". */
enum err type_id_make(struct arena *a, const struct type_words *w, struct str *ret) MUST_CHECK;

/* The same for what Pyroscope's clients send: "-" in a type is "_", godeltaprof's names are those
 * of what they are deltas of, and cpu time beside wall time is process_cpu. */
enum err type_id_make_pyroscope(struct arena *a, const struct type_words *w,
				struct str *ret) MUST_CHECK;

/* What a client wants its columns to be called (sample_type_config). */
struct display_names {
	bool given; /* else Pyroscope's own ones */
	uint32_t n;
	struct label_pair v[PROFILE_MAX_TYPES]; /* type, its display name */
};

/* The name of a pprof profile from its types, by Pyroscope's rules for /ingest: valid until the
 * dictionary grows. */
struct str type_name_of_pprof(const struct profile *p, const struct display_names *names);

/* The name of a profile that came without one: the table's when it knows the type, else what it
 * was sampled by. */
struct str type_name_of_column(const struct profile *p, uint32_t column);
/* The id of a column of such a profile. One that does not say what it was sampled by and has a type
 * of the table has the table's id; one that was computed is marked (TYPE_DERIVED). */
enum err type_id_of_column(struct arena *a, const struct profile *p, uint32_t column,
			   struct str *ret) MUST_CHECK;
