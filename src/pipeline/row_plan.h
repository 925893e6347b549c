/*
 * Splits the labels of rows. Each label set is processed once and cached by id; the result is
 *
 *	the series			labels of the allow-list, and service.name if allowed
 *	the link			span_id (profile_id in older clients) and trace_id
 *	remaining labels		all others, except object sizes in heap profiles
 */
#pragma once

#include "base/arena.h"
#include "pipeline/jfr_contexts.h"
#include "pipeline/series_labels.h"

/* Maximum number of series per profile; further rows keep their labels unchanged. */
#define ROW_GROUPS_MAX 256

struct row_rules {
	const struct receive_limits *limits;
	const struct series_labels *series;  /* series labels take precedence over those of a row */
	const struct jfr_contexts *contexts; /* NULL: context ids are plain labels */
	bool services;			     /* service.name of a row selects its service */
};

/* The result for one label set. */
struct row_plan {
	uint32_t set, labels, link, group;
};

/* Series labels of only these rows: pairs[at … at + n), from the row labels ids[id_at … id_at +
 * id_n). Group 0 has none. */
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
	bool merge; /* a label was dropped, so rows may be equal now */
	uint32_t role_n;
	struct row_role {
		uint32_t key;
		int role;
	} roles[32]; /* cache of recent keys */
};

enum err row_plans_init(struct row_plans *p, struct dict *d, const struct row_rules *rules,
			struct arena *arena, struct notes *notes) MUST_CHECK;
void row_plans_release(struct row_plans *p);
/* The result for rows with this label set, valid until the next call. */
enum err row_plans_get(struct row_plans *p, uint32_t set, const struct row_plan **ret) MUST_CHECK;
