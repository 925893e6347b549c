/*
 * Samples from their slots into the tally: addresses become places, stacks that were copied are
 * walked. Background thread only.
 */
#pragma once

#include "sdk/loaded.h"
#include "sdk/sdk_settings.h"
#include "sdk/tally.h"

struct intake {
	struct loaded *loaded;
	const struct sdk_settings *settings;
	struct tally tally;
};

/* Takes over all that were taken so far. */
void intake_take(struct intake *in);
/* What is still held, at this moment, as rows of SAMPLE_LIVE. */
void intake_count_live(struct intake *in);
