/*
 * Model -> tables, between otlp_plan*.c. Every entry of our dictionary that a row needs gets its
 * place in the file's tables at first use; entry 0 of each is there from the start.
 */
#pragma once

#include "format/otlp_any.h"
#include "format/otlp_fields.h"
#include "format/otlp_tables.h"

/* Text the dictionary does not have: names of attributes. */
struct otlp_extra {
	struct str text;
	int32_t index;
};

struct otlp_run {
	uint32_t at, n; /* in d->stacks.pool */
	int32_t location;
};

struct otlp_planner {
	struct writing *in;
	struct otlp_tables *t;
	const struct dict *d;
	bool encode;	    /* stacks are written out at once */
	struct arena arena; /* of the arrays below */

	/* By id in our dictionary: index in the file's table, 0 = not yet. */
	int32_t *strings, *functions, *mappings, *links, *stacks;
	int32_t *single;	 /* by frame that is not inlined: its location */
	uint32_t *coded;	 /* the same as pb_coded() has it, 0 = not so */
	uint32_t *first_samples; /* by stack: place_row() in otlp_plan_rows.c */
	uint32_t samples_before; /* of earlier profiles */
	struct otlp_range *sets; /* by label set; n is 0 before the first use */
	VEC(struct otlp_extra) extra;
	VEC(struct otlp_run) runs; /* of several frames */
	struct map run_index, attribute_index;
	VEC(int32_t) scratch, stack_scratch;
};

/* otlp_plan_dict.c */
/* Adds a text attribute to p->scratch, unless the string is 0. */
enum err otlp_plan_push_text(struct otlp_planner *p, const char *key, uint32_t string) MUST_CHECK;
enum err otlp_plan_zero_entries(struct otlp_planner *p) MUST_CHECK;
/* Text as it may stand in a file: valid UTF-8. */
enum err otlp_plan_text(struct otlp_planner *p, struct str text, struct str *ret) MUST_CHECK;
enum err otlp_plan_string(struct otlp_planner *p, uint32_t string, int32_t *ret) MUST_CHECK;
enum err otlp_plan_mapping(struct otlp_planner *p, uint32_t mapping, int32_t *ret) MUST_CHECK;
enum err otlp_plan_stack(struct otlp_planner *p, uint32_t stack, int32_t *ret) MUST_CHECK;
enum err otlp_plan_link(struct otlp_planner *p, uint32_t link, int32_t *ret) MUST_CHECK;

/* otlp_plan_labels.c */
enum err otlp_plan_named(struct otlp_planner *p, const char *key, struct otlp_any value,
			 int32_t *ret) MUST_CHECK;
enum err otlp_plan_labels(struct otlp_planner *p, uint32_t set, struct otlp_range *ret) MUST_CHECK;
enum err otlp_plan_pairs(struct otlp_planner *p, uint32_t set, struct otlp_pair **ret,
			 uint32_t *ret_n) MUST_CHECK;
enum err otlp_plan_scope(struct otlp_planner *p, const struct profile *src, const uint32_t *order,
			 uint32_t columns, struct otlp_scope *ret) MUST_CHECK;
/* What the profile says of itself and OTLP has no field for. */
enum err otlp_plan_profile_attributes(struct otlp_planner *p, const struct profile *src,
				      struct otlp_range *ret) MUST_CHECK;

/* otlp_plan_rows.c: a Profile per column in `order`, appended to the tables. */
enum err otlp_plan_profiles(struct otlp_planner *p, const struct profile *src,
			    const uint32_t *order, uint32_t columns) MUST_CHECK;
