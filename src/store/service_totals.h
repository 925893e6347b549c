/*
 * Private to src/store: the totals of the types of a service and the times at which they were
 * profiled, without points: what an overview needs to rank the service. An engine caches them until
 * the service changes.
 *
 * Totals are valid for the time ranges they were computed for. If all profiles of the service lie in
 * one of them, they are also valid for other ranges that contain all of them, and for points of any
 * width: the result does not depend on the borders then, because no profile is near one.
 */
#pragma once

#include "store/answer_services.h"

/* A series of an answer. */
struct totals_series {
	struct str type; /* string of the last partition, or a copy */
	int64_t total;
	uint32_t range;
	bool whole;
};

/* The contribution to struct coverage_whole of a type, for the range that has all profiles, else for
 * the first. */
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
	 * INT64_MAX if for no others. Of a later range that begins at `silent_from_ns` or after it
	 * nothing of the service is read. */
	int64_t begins_until_ns, ends_from_ns, silent_from_ns;
	uint64_t chunks, blocks, rollups, rows, read_bytes; /* of struct ask, when they were made */
	uint32_t series_count, whole_count;
	const struct totals_series *series;
	const struct totals_whole *wholes;
	const struct coverage_time *times;
};

/* An answer about one service, and where it comes from. Of arrays one for each range. */
struct totals_source {
	const struct services_question *question;
	const struct series_answer *answers;
	const struct whole_list *wholes;
	const struct coverage_reach *reaches;
	const struct ask *asks;		 /* counters before each range, and after the last */
	const struct service_part *part; /* light partitions */
};

/* NULL if memory is short. Types are strings of the last partition, or copies. `starts`: see struct
 * source; NULL = unknown. */
struct service_totals *service_totals_new(const struct totals_source *from,
					  const struct time_span *starts);
/* Whether the totals may be valid for other ranges, depending on when profiles start. */
bool service_totals_may_last(const struct totals_source *from);
/* Whether the totals are valid for a query, and for which of its ranges; TOTALS_AS_MADE: each for
 * the range it was made for. */
#define TOTALS_AS_MADE UINT32_MAX
bool service_totals_hold(const struct service_totals *t, const struct services_question *question,
			 uint32_t *ret_range);
