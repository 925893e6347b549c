/*
 * What becomes of the labels that rows of a profile carry. A row's label set is looked at once and
 * remembered by its id; afterwards every row knows
 *
 *	which series it belongs to	labels of the allow-list, and service.name where it may
 *	its link			span_id (profile_id in older clients) and trace_id
 *	the labels it keeps		all others, but for the size of objects in heap profiles
 */
#pragma once

#include "base/arena.h"
#include "pipeline/jfr_contexts.h"
#include "pipeline/series_labels.h"

/* Most series one profile may be split into; further rows keep their labels as they are. */
#define ROW_GROUPS_MAX 256

struct row_rules {
	const struct receive_limits *limits;
	const struct series_labels *series;  /* a label of the series wins over one of a row */
	const struct jfr_contexts *contexts; /* NULL: numbers of contexts are plain labels */
	bool services;			     /* service.name of a row is its service */
};

/* The outcome for one label set. */
struct row_plan {
	uint32_t set, labels, link, group;
};

/* Labels of the series that only these rows have: pairs[at … at + n), which stand for the labels of
 * rows ids[id_at … id_at + id_n). Group 0 has none. */
struct row_group {
	uint32_t at, n;
	uint32_t id_at, id_n;
	size_t rows;
};

struct row_plans {
	struct dict *d;
	struct row_rules rules;
	struct arena *arena;
	struct notes *notes;
	VEC(struct row_plan) plans;
	struct map index;
	VEC(struct row_group) groups;
	struct map group_index;
	VEC(struct label_pair) pairs; /* text in the arena */
	VEC(uint32_t) ids;	      /* label ids of the groups */
	VEC(uint32_t) kept, found;    /* scratch: of the row, of its series */
	struct buf text;
	bool merge; /* a label was dropped: rows may be equal now */
	uint32_t role_n;
	struct row_role {
		uint32_t key;
		int role;
	} roles[32]; /* of keys met lately */
};

enum err row_plans_init(struct row_plans *p, struct dict *d, const struct row_rules *rules,
			struct arena *arena, struct notes *notes) MUST_CHECK;
void row_plans_release(struct row_plans *p);
/* The plan for rows with this label set: valid until the next call. */
enum err row_plans_get(struct row_plans *p, uint32_t set, const struct row_plan **ret) MUST_CHECK;
