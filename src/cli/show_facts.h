/*
 * What `vestal show` prints about one profile, collected in one pass over its rows and one over the
 * stacks it uses.
 */
#pragma once

#include "cli/input.h"

struct type_fact {
	int64_t total;
	uint64_t negative, nonzero; /* rows */
};

#define FACT_EXAMPLES 3

struct label_fact {
	uint32_t key;
	uint64_t rows;
	VEC(uint32_t) values; /* distinct label ids, in order of first use */
};

struct facts {
	const struct profile *p;
	struct type_fact types[PROFILE_MAX_TYPES];
	uint64_t stacks, empty_rows, linked_rows, timed_rows, repeated_rows;
	uint64_t functions, functions_without_file;
	uint64_t frames, frames_without_function; /* of distinct stacks, with repetition */
	uint32_t deepest;			  /* frames of the deepest stack */
	uint32_t cut_depth; /* 0, or the depth at which stacks seem to be truncated */
	uint64_t cut_stacks;
	double broken_share; /* of the default type, in stacks marked as truncated or incompletely unwound */
	uint64_t links;
	int64_t first_time, last_time; /* of rows */
	uint64_t outside_window;
	VEC(uint32_t) mappings; /* used ones */
	VEC(struct label_fact) labels;
};

enum err facts_gather(const struct profile *p, struct facts *ret) MUST_CHECK;
void facts_release(struct facts *f);
double facts_unsymbolised(const struct facts *f);

/* Problems of the profile, one line each. */
void checks_run(const struct facts *f, struct notes *ret);

/* The printers. */
struct show_report {
	const struct source *source;
	const struct profile_list *list;
	struct facts *facts;   /* one per profile */
	struct notes *remarks; /* the same */
};
void show_text(const struct show_report *r, struct buf *out);
void show_json(const struct show_report *reports, size_t n, struct buf *out);
