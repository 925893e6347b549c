/*
 * Private to src/store: time series of all services, one service after the other, so that memory is
 * needed for one at a time.
 */
#pragma once

#include "store/coverage.h"

/* Profiled time by type, over many answers. */
struct whole_list {
	struct arena arena;
	VEC(struct coverage_whole) v;
};

/* The entry of a type, created if missing. */
enum err whole_list_find(struct whole_list *list, struct str type,
			 struct coverage_whole **ret) MUST_CHECK;

/* The partitions of a service. */
struct service_part {
	struct partition *const *partitions;
	size_t n;
	bool brief; /* totals are wanted, without points */
};

/* answer_series for some partitions, which may be light if the query needs no stacks. Stores the
 * profiled time in `wholes` instead of ask->covered_ns. */
enum err answer_series_of(const struct source *source, const struct service_part *part,
			  const struct selection *selection, const struct series_question *question,
			  struct ask *ask, struct whole_list *wholes,
			  struct coverage_reach *ret_reach, struct series_answer *ret) MUST_CHECK;
/* The start of the search for values that are valid at the start of the range. */
int64_t answer_series_since(const struct series_question *question, int64_t from_ns);

/* store_services. */
enum err answer_services(const struct source *source, struct str tenant,
			 const struct selection *selection,
			 const struct services_question *question, struct ask *ask,
			 enum err (*each)(void *context, struct str service,
					  const struct series_answer *answers),
			 void *context, struct services_answer *ret) MUST_CHECK;
