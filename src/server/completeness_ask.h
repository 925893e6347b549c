/*
 * Completeness of the data selected by an inquiry. Agents and libraries send it next to their
 * profiles (model/completeness.h); it is queried with the same selector and times.
 */
#pragma once

#include "server/api.h"

struct completeness_answer {
	struct dict dict;
	struct completeness_rows {
		struct profile p;    /* rows by stack and group-by labels */
		VEC(uint32_t) order; /* per label set of rows */
	} count, time;
	bool ready;
};

void completeness_answer_release(struct completeness_answer *a);
/* Queries all completeness data of the selection, optionally by service. */
enum err completeness_ask(struct inquiry *q, bool by_service,
			  struct completeness_answer *ret) MUST_CHECK;
/* The part for a type id; of one service if queried by service. */
enum err completeness_about(struct completeness_answer *a, struct str type,
			    const struct str *service, struct completeness *ret) MUST_CHECK;
/* Both, for the type of the inquiry. */
enum err inquiry_completeness(struct inquiry *q, struct completeness *ret) MUST_CHECK;
/* Writes "completeness": {…}, with the quality of the response's stacks, if it has any. */
enum err api_completeness(struct inquiry *q, struct jsonout *o) MUST_CHECK;
/* The same for both sides of a comparison; `quality` of both, or NULL. */
void completeness_put_sides(struct jsonout *o, const struct completeness sides[2],
			    const struct stack_quality *quality);
/* Removes the types of completeness, which are only returned on request. */
enum err shown_types(struct request *r, const struct selection *s, struct ask *ask,
		     struct text_answer *ret) MUST_CHECK;
/* The same for label sets with the type. */
void hide_completeness(struct label_set_answer *sets);
