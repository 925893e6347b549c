/*
 * An inquiry: a question to the store on behalf of a request: the selector parsed, the type found,
 * the answer merged into a profile and a tree. All APIs ask through this.
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
	struct text_answer types; /* holds the type's text when it was found there */
	struct dict dict;
	struct profile profile; /* one column */
	int64_t covered_ns;	/* how much of the range was profiled, once it is merged */
	struct late_names late; /* what was named in it after it was stored */
	struct tree tree;
	bool selected, merged, built;
};

void inquiry_init(struct inquiry *q, struct request *r, struct fault *fault);
void inquiry_release(struct inquiry *q);

/*
 * `type` is a five-part id, a short name ("cpu") or a sample type ("inuse_space"); empty: the one
 * before the selector's brace, or none. Times as asked: until must be after from.
 */
enum err inquiry_select(struct inquiry *q, struct str selector, struct str type, int64_t from_ns,
			int64_t until_ns) MUST_CHECK;
/* Several selectors, all of which must hold; without a type of its own. */
enum err inquiry_select_all(struct inquiry *q, const struct str *selectors, size_t n,
			    int64_t from_ns, int64_t until_ns) MUST_CHECK;
/* The same for clients of Pyroscope: a type must be said, and be an id or a known short name. */
enum err inquiry_select_typed(struct inquiry *q, struct str selector, struct str type,
			      int64_t from_ns, int64_t until_ns) MUST_CHECK;
/* The same with the times of the request: its parameters `from` and `until` (the last hour), or
 * `time_range`, the last such time in which the selection has data (inquiry_last). */
enum err inquiry_select_asked(struct inquiry *q, struct str selector, struct str type,
			      const char *from, const char *until) MUST_CHECK;
/* Narrows the selection to the last `length_ns` in which it has data; ERR_NOT_FOUND when it has
 * none. */
enum err inquiry_last(struct inquiry *q, int64_t length_ns) MUST_CHECK;
/* For questions that need a type: where none was said it is the only one there is, else cpu; else
 * it fails and says which there are. */
enum err inquiry_need_type(struct inquiry *q) MUST_CHECK;
/* The failure of a selection that holds nothing. */
enum err inquiry_nothing(struct inquiry *q);
/* The selected profiles as one, in q->profile, with names that are known by now. */
enum err inquiry_merge(struct inquiry *q, const struct str *group_by,
		       size_t group_count) MUST_CHECK;
/* For questions by functions that do without a profile: q->late of the selected. Where nothing can
 * be named it costs nothing. */
enum err inquiry_name(struct inquiry *q) MUST_CHECK;
/* Only rows of these times are asked for; they stay the caller's, and sorted and apart. */
void inquiry_limit_times(struct inquiry *q, const struct time_span *times, size_t n);
/* How many nodes a tree may have: as asked, or 8,192 for 0. */
enum err inquiry_nodes(const struct inquiry *q, int64_t max_nodes, uint32_t *ret) MUST_CHECK;
/* And its tree, in q->tree; 0 nodes = the default of 8,192. */
enum err inquiry_tree(struct inquiry *q, int64_t max_nodes) MUST_CHECK;

/* A profile over another dictionary of the same seed; the caller releases it. */
enum err profile_move(const struct profile *p, struct dict *to, struct profile *ret) MUST_CHECK;
/* Two questions as one tree of two columns; merges those that are not merged yet. */
enum err inquiry_diff_tree(struct inquiry *left, struct inquiry *right, int64_t max_nodes,
			   struct tree *ret) MUST_CHECK;

/* The parts of a five-part id; missing ones are empty. */
struct type_parts {
	struct str name, sample_type, sample_unit, period_type, period_unit;
};
struct type_parts type_split(struct str id);
