/*
 * An inquiry: a query of the store for a request: parses the selector, finds the type, and merges
 * the result into a profile and a tree. Used by all APIs.
 *
 *	struct inquiry q;
 *
 *	inquiry_init(&q, r, fault);
 *	error = inquiry_select(&q, selector, type, from_ns, until_ns);
 *	if (error == ERR_OK)
 *		error = inquiry_tree(&q, max_nodes);
 *	…
 *	inquiry_release(&q);
 */
#pragma once

#include "query/query.h"
#include "server/late_names.h"
#include "server/request.h"

struct inquiry {
	struct request *request;
	struct selector selector;
	struct selection selection;
	struct ask ask;
	struct fault *fault;
	struct text_answer types; /* holds the type's string if it was found there */
	struct dict dict;
	struct profile profile; /* one column */
	int64_t covered_ns;	/* covered time of the range, after merging */
	struct late_names late; /* frames symbolized after storage */
	struct tree tree;
	bool selected, merged, built;
};

void inquiry_init(struct inquiry *q, struct request *r, struct fault *fault);
void inquiry_release(struct inquiry *q);

/*
 * `type` is a five-part id, a short name ("cpu") or a sample type ("inuse_space"); empty: the one
 * before the selector's brace, or none. `until` must be after `from`.
 */
enum err inquiry_select(struct inquiry *q, struct str selector, struct str type, int64_t from_ns,
			int64_t until_ns) MUST_CHECK;
/* Several selectors, all of which must match; without a type. */
enum err inquiry_select_all(struct inquiry *q, const struct str *selectors, size_t n,
			    int64_t from_ns, int64_t until_ns) MUST_CHECK;
/* The same for clients of Pyroscope: a type is required, an id or a known short name. */
enum err inquiry_select_typed(struct inquiry *q, struct str selector, struct str type,
			      int64_t from_ns, int64_t until_ns) MUST_CHECK;
/* The same with the times of the request: its parameters `from` and `until` (the last hour), or
 * `time_range`, the last time of that length with data (inquiry_last). */
enum err inquiry_select_asked(struct inquiry *q, struct str selector, struct str type,
			      const char *from, const char *until) MUST_CHECK;
/* Narrows the selection to the last `length_ns` with data; ERR_NOT_FOUND if it has none. */
enum err inquiry_last(struct inquiry *q, int64_t length_ns) MUST_CHECK;
/* For queries that need a type: the default is the only type of the selection, else cpu; otherwise
 * fails and lists the types. */
enum err inquiry_need_type(struct inquiry *q) MUST_CHECK;
/* The error for a selection without data. */
enum err inquiry_nothing(struct inquiry *q);
/* Merges the selected profiles into q->profile, with late symbolization. */
enum err inquiry_merge(struct inquiry *q, const struct str *group_by,
		       size_t group_count) MUST_CHECK;
/* For queries by function without a merged profile: sets q->late for the selection. Free if nothing
 * can be symbolized. */
enum err inquiry_name(struct inquiry *q) MUST_CHECK;
/* Restricts the query to rows of these times, which must be sorted and disjoint, and stay valid. */
void inquiry_limit_times(struct inquiry *q, const struct time_span *times, size_t n);
/* The maximum number of nodes of a tree: as requested, or 8,192 for 0. */
enum err inquiry_nodes(const struct inquiry *q, int64_t max_nodes, uint32_t *ret) MUST_CHECK;
/* Also builds the tree, in q->tree; 0 nodes = the default of 8,192. */
enum err inquiry_tree(struct inquiry *q, int64_t max_nodes) MUST_CHECK;

/* A profile over another dictionary of the same seed; the caller releases it. */
enum err profile_move(const struct profile *p, struct dict *to, struct profile *ret) MUST_CHECK;
/* A tree with two columns from two inquiries; merges them if necessary. */
enum err inquiry_diff_tree(struct inquiry *left, struct inquiry *right, int64_t max_nodes,
			   struct tree *ret) MUST_CHECK;

/* The parts of a five-part id; missing ones are empty. */
struct type_parts {
	struct str name, sample_type, sample_unit, period_type, period_unit;
};
struct type_parts type_split(struct str id);
