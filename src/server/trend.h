/*
 * Whether values over time are higher or lower than those before them, by more than they move
 * anyway. Neighbouring points are alike, so blocks of them are compared, as in Welch's test.
 */
#pragma once

#include <stddef.h>

enum trend_verdict { TREND_UNKNOWN, TREND_NOISE, TREND_MORE, TREND_LESS };

struct trend {
	double before, after; /* means over what was measured; NAN = nothing was */
	double share;	      /* of the change; NAN = cannot be told */
	enum trend_verdict verdict;
};

/* NAN stands where nothing was measured. */
struct trend trend_of(const double *before, size_t before_n, const double *after, size_t after_n);
const char *trend_word(enum trend_verdict v);
