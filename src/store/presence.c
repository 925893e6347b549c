#include "store/presence.h"

#include <stddef.h>

#include "base/clock.h"
#include "store/partition.h"

/* Widths that fit how often profiles usually come; the web UI's time line (series.ts) has them. */
static const int64_t steps_s[] = {1,   2,   5,	  10,	30,   60,    120,
				  300, 600, 1800, 3600, 7200, 21600, 86400};
#define USUAL_POINTS 240
/* A point may be this much shorter than what is asked for. */
#define NEARLY	     0.98

int64_t presence_step(int64_t span_ns)
{
	double least = (double)span_ns / USUAL_POINTS;

	for (size_t i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++)
		if ((double)(steps_s[i] * NS_PER_S) >= least * NEARLY)
			return steps_s[i] * NS_PER_S;
	return ((int64_t)(least / NS_PER_DAY) + 1) * NS_PER_DAY;
}
