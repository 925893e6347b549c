/*
 * Totals, rates and changes in responses of /api/v1 (docs/numbers.md): converts results of
 * inquiries for model/rate.h and model/rate_change.h.
 */
#pragma once

#include "server/api.h"

/* Points of the time series used for testing changes. */
#define CHANGE_POINTS 60

bool type_id_is_gauge(struct str id);

/* For the last merge or series query. With cells of a heat map the covered time is unknown. */
struct amount api_amount(const struct inquiry *q, int64_t total);
/* For a file: all of its duration is covered. */
struct amount profile_amount(const struct profile *p, uint32_t type);
/* For a time series; `gauge`: its points are means. */
struct amount points_amount(const struct series_points *s, bool gauge, int64_t range_ns);

/* A side of a comparison, with a copy of its points in `arena`; `range_ns` is the length of its
 * range. */
enum err points_side(const struct series_points *s, bool gauge, int64_t range_ns,
		     struct arena *arena, struct change_side *ret) MUST_CHECK;
/* The change between two inquiries, by their time series; `merged` (of both, or NULL) has their
 * exact totals. */
enum err api_change_over_time(struct inquiry *before, struct inquiry *after,
			      const struct amount *merged, struct rate_change *ret) MUST_CHECK;
/* The change between two merged inquiries: by time series, or by number of samples if filters were
 * applied, because a filtered part has no time series. */
enum err api_change(struct inquiry *before, struct inquiry *after, const struct diff *diff,
		    struct rate_change *ret) MUST_CHECK;
