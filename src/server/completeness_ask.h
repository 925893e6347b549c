/*
 * What arrived of what an inquiry selects. Agents and libraries send it beside their profiles
 * (model/completeness.h); here it is asked for with the same selector and times.
 */
#pragma once

#include "server/api.h"

struct completeness_answer {
	struct dict dict;
	struct completeness_rows {
		struct profile p;    /* rows by stack, and by the labels that were asked for */
		VEC(uint32_t) order; /* of rows, by their labels */
	} count, time;
	bool ready;
};

void completeness_answer_release(struct completeness_answer *a);
/* Everything there is about the selection, by service when asked for. */
enum err completeness_ask(struct inquiry *q, bool by_service,
			  struct completeness_answer *ret) MUST_CHECK;
/* The part about a type's id; of one service where it was asked by service. */
enum err completeness_about(struct completeness_answer *a, struct str type,
			    const struct str *service, struct completeness *ret) MUST_CHECK;
/* Both for the type of the inquiry. */
enum err inquiry_completeness(struct inquiry *q, struct completeness *ret) MUST_CHECK;
/* "completeness": {…}, with what the stacks of the answer show when there are any. */
enum err api_completeness(struct inquiry *q, struct jsonout *o) MUST_CHECK;
/* The same of a comparison, where both sides are known; `quality` of both, or NULL. */
void completeness_put_sides(struct jsonout *o, const struct completeness sides[2],
			    const struct stack_quality *quality);
/* The types there are but those of completeness, which only who asks for them by id sees. */
enum err shown_types(struct request *r, const struct selection *s, struct ask *ask,
		     struct text_answer *ret) MUST_CHECK;
/* The same of label sets that tell the type. */
void hide_completeness(struct label_set_answer *sets);
