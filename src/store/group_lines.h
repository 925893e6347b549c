/*
 * Private to src/store: which lines of the coverage belong to a group of a time line.
 *
 * A group by labels of samples is covered as a selection by them is: by every series that may have
 * such samples, on the days on which samples of the service have these labels. So beside the line
 * of a series there are *parts* of it, one for each set of grouped labels that samples of some day
 * have: a line of the profiles of these days.
 */
#pragma once

#include "store/coverage.h"

#define NO_LINE UINT32_MAX

struct group_line {
	uint32_t own;	 /* the group of the series' own labels */
	uint64_t open;	 /* grouped labels (bits) that samples beside it may have */
	uint64_t labels; /* of a part: samples of all its days have these; 0 = a whole series */
	uint32_t next;	 /* the next part of the series; NO_LINE = none */
};

/* All zero is valid and empty. */
struct group_lines {
	const struct grouping *grouping;
	VEC(struct group_line) lines; /* by line of the coverage */
	uint64_t open;		      /* in the current partition */
	bool any_open;		      /* in any partition */
	VEC(uint32_t) found;	      /* the result of group_lines_find and group_lines_rest */
};

void group_lines_release(struct group_lines *g);
/* Begins a partition. With its lock held. */
void group_lines_begin(struct group_lines *g, const struct grouping *grouping,
		       const struct dict *d);
/* A profile of a series whose line this is comes next: adds its parts to the coverage. */
enum err group_lines_series(struct group_lines *g, struct coverage *c, uint32_t line,
			    uint32_t own) MUST_CHECK;
/* The parts of a line that the current partition belongs to: the first of a line, the next of a
 * part. */
uint32_t group_lines_part(const struct group_lines *g, uint32_t line);
/* Where values of a group are that are found in a series: its line, or a part of it. */
uint32_t group_lines_of(const struct group_lines *g, uint32_t line, uint32_t group);
bool group_lines_is_part(const struct group_lines *g, uint32_t line);

/* Finds the lines of a type that cover a group. */
enum err group_lines_find(struct group_lines *g, const struct coverage *c, uint32_t type,
			  uint32_t group) MUST_CHECK;
/* Finds those that cover all other groups, of which `rest` have values. `shown`: by group. */
enum err group_lines_rest(struct group_lines *g, const struct coverage *c, uint32_t type,
			  const bool *shown, const uint32_t *rest, size_t rest_count) MUST_CHECK;
