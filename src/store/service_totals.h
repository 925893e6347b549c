/*
 * Private to src/store: the totals of the types of a service and the times at which they were
 * profiled, without points: what an overview needs to rank the service. An engine caches them until
 * the service changes.
 *
 * Totals are valid for the time ranges they were computed for. If all profiles of the service lie in
 * the first range, they are also valid for other ranges that contain all of them: the result does not
 * depend on the borders then, because no profile is near one.
 */
#pragma once

#include "store/answer_services.h"

/* A series of an answer. */
struct totals_series {
	struct str type; /* text of the partition */
	int64_t total;
	uint32_t range;
	bool whole;
};

/* The contribution to struct coverage_whole of a type, for the first range. */
struct totals_whole {
	struct str type;
	bool has_values;
	uint32_t times_at, times_n;
	int64_t covered_ns, present_ns;
};

/* One allocation. */
struct service_totals {
	size_t bytes;
	struct time_span ranges[SERVICES_RANGES];
	uint32_t range_count;
	int64_t step_ns;
	/* Also valid for ranges that begin at the latest and end at the earliest so; INT64_MIN and
	 * INT64_MAX if for no others. */
	int64_t begins_until_ns, ends_from_ns;
	uint64_t chunks, blocks, rollups, rows, read_bytes; /* of struct ask */
	uint32_t series_count, whole_count;
	const struct totals_series *series;
	const struct totals_whole *wholes;
	const struct coverage_time *times;
};

/* An answer about one service, and where it comes from. */
struct totals_source {
	const struct services_question *question;
	const struct series_answer *answers; /* one for each range */
	const struct whole_list *wholes;
	const struct partition *partition;  /* light, its only one */
	const struct coverage_reach *reach; /* of the first range */
	const struct ask *before, *after;   /* counters before and after the query */
};

/* NULL if memory is short or a type is unknown. `starts`: see struct source; NULL = unknown. */
struct service_totals *service_totals_new(const struct totals_source *from,
					  const struct time_span *starts);
/* Whether the totals may be valid for other ranges, depending on when profiles start. */
bool service_totals_may_last(const struct totals_source *from);
/* Whether the totals are valid for a query. */
bool service_totals_hold(const struct service_totals *t, const struct services_question *question);
