/*
 * Moves samples from their slots to the tally: converts addresses to places and unwinds copied
 * stacks. Background thread only.
 */
#pragma once

#include "sdk/kept_samples.h"
#include "sdk/loaded.h"
#include "sdk/sdk_settings.h"
#include "sdk/tally.h"

#define CAPTURES_MAX 4

struct intake {
	struct loaded *loaded;
	const struct sdk_settings *settings;
	struct tally tally;
	/* All kinds except CPU time since the start, without context; kept if the control server
	 * may be asked for it. */
	bool keep_totals;
	struct tally totals;
	struct wall *wall; /* stacks of threads */
	/* Tally of a running request; NULL = none. */
	struct tally *captures[CAPTURES_MAX];
	struct kept_samples kept;
};

/* Collects all samples; with `last` none is held for its span. */
void intake_take(struct intake *in, bool last);
/* Adds the current live objects as rows of SAMPLE_LIVE. */
void intake_count_live(struct intake *in);
/* The number of a stack in `tally`. */
enum err intake_number(void *intake, const struct taken_sample *s, u32 *ret) MUST_CHECK;
/* The place of an address of the process. */
u64 intake_place(const struct intake *in, u64 address);
