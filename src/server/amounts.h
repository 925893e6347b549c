/*
 * Totals, rates and changes in the answers of /api/v1 (docs/numbers.md): what inquiries found, as
 * the quantities of model/rate.h and model/rate_change.h.
 */
#pragma once

#include "server/api.h"

/* Points of a time line that changes are judged by. */
#define CHANGE_POINTS 60

bool type_id_is_gauge(struct str id);

/* Of the selection that was merged, or asked for over time, last. With cells of a heat map how long
 * was covered is not known. */
struct amount api_amount(const struct inquiry *q, int64_t total);
/* Of a file: all of its length is covered. */
struct amount profile_amount(const struct profile *p, uint32_t type);
/* The amount of a series over time; `gauge`: its points are means. */
struct amount points_amount(const struct series_points *s, bool gauge, int64_t range_ns);

/* A side of a comparison, with a copy of its points in `arena`; `range_ns` is how long it was asked
 * for. */
enum err points_side(const struct series_points *s, bool gauge, int64_t range_ns,
		     struct arena *arena, struct change_side *ret) MUST_CHECK;
/* The change from one inquiry to another by their time lines; `merged`, of both or NULL, is what
 * they amount to where that is known to the last unit. */
enum err api_change_over_time(struct inquiry *before, struct inquiry *after,
			      const struct amount *merged, struct rate_change *ret) MUST_CHECK;
/* The change from one merged inquiry to another: over time, or by the samples behind them where
 * filters left a part that has no time line. */
enum err api_change(struct inquiry *before, struct inquiry *after, const struct diff *diff,
		    struct rate_change *ret) MUST_CHECK;
