/*
 * Which Profiles of a scope belong together: those that differ only in sample type and values are a
 * group. Groups whose Profiles agree in what they say of themselves, but not row by row, are
 * joined: then rows are found by their content.
 */
#pragma once

#include "format/otlp_tables.h"

/* Members are chained by `next`, in the order of the file. */
struct otlp_group {
	uint32_t first, last, n;
	uint32_t joined; /* the next group of these, counted from 1; 0 = none */
	bool follows;	 /* it is reached by `joined` of another */
};

struct otlp_grouping {
	const struct otlp_tables *t;
	uint64_t seed; /* the dictionary's */
	struct otlp_range profiles;
	uint32_t *next; /* by profile, counted from the scope's first */
	VEC(struct otlp_group) groups;
	VEC(uint32_t) newest; /* by key: the group that may still grow */
	struct map keys;
};

/* Puts a profile into the group it fits, or into a new one. `next` must have room for all. */
enum err otlp_group_add(struct otlp_grouping *all, uint32_t index) MUST_CHECK;
/* When all were added. */
enum err otlp_groups_join(struct otlp_grouping *all) MUST_CHECK;
uint32_t otlp_next_member(const struct otlp_grouping *all, uint32_t index);
void otlp_grouping_release(struct otlp_grouping *all);
