/*
 * Samples from their slots into the tally: addresses become places, stacks that were copied are
 * walked. Background thread only.
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
	/* All but CPU time since the start, of no context: where somebody may ask for it. */
	bool keep_totals;
	struct tally totals;
	struct wall *wall; /* where threads are */
	/* What somebody waits for; NULL = nobody. */
	struct tally *captures[CAPTURES_MAX];
	struct kept_samples kept;
};

/* Takes over all that were taken so far; with `last` none waits for its span. */
void intake_take(struct intake *in, bool last);
/* What is still held, at this moment, as rows of SAMPLE_LIVE. */
void intake_count_live(struct intake *in);
/* The number of a stack, in `tally`. */
enum err intake_number(void *intake, const struct taken_sample *s, u32 *ret) MUST_CHECK;
/* The place of an address of the process. */
u64 intake_place(const struct intake *in, u64 address);
