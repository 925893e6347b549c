/*
 * A question to the store on behalf of a request: the selector parsed, the type found, the answer
 * merged into a profile and a tree. All APIs ask through this.
 *
 *	struct question q;
 *
 *	question_init(&q, r, fault);
 *	error = question_select(&q, selector, type, from_ns, until_ns);
 *	if (error == ERR_OK)
 *		error = question_tree(&q, max_nodes);
 *	…
 *	question_release(&q);
 */
#pragma once

#include "query/query.h"
#include "server/request.h"

struct question {
	struct request *request;
	struct selector selector;
	struct selection selection;
	struct ask ask;
	struct fault *fault;
	struct text_answer types; /* holds the type's text when it was found there */
	struct dict dict;
	struct profile profile; /* one column */
	struct tree tree;
	bool selected, merged, built;
};

void question_init(struct question *q, struct request *r, struct fault *fault);
void question_release(struct question *q);

/*
 * `type` is a five-part id, a short name ("cpu") or a sample type ("inuse_space"); empty: the one
 * before the selector's brace, or none. Times as asked: until must be after from.
 */
enum err question_select(struct question *q, struct str selector, struct str type, int64_t from_ns,
			 int64_t until_ns) MUST_CHECK;
/* Fails when no type is known: for questions that need one. */
enum err question_need_type(struct question *q) MUST_CHECK;
/* The selected profiles as one, in q->profile. */
enum err question_merge(struct question *q, const struct str *group_by,
			size_t group_count) MUST_CHECK;
/* And its tree, in q->tree; 0 nodes = the default of 8,192. */
enum err question_tree(struct question *q, int64_t max_nodes) MUST_CHECK;

/* A merged question's profile over another dictionary of the same seed; the caller releases it. */
enum err question_move(const struct question *q, struct dict *to, struct profile *ret) MUST_CHECK;
/* Two questions as one tree of two columns; merges both. */
enum err question_diff_tree(struct question *left, struct question *right, int64_t max_nodes,
			    struct tree *ret) MUST_CHECK;

/* The parts of a five-part id; missing ones are empty. */
struct type_parts {
	struct str name, sample_type, sample_unit, period_type, period_unit;
};
struct type_parts type_split(struct str id);
