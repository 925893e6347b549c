/*
 * A tally made into profiles, as they are sent or written.
 */
#pragma once

#include "model/model.h"
#include "sdk/place_names.h"
#include "sdk/sdk_settings.h"
#include "sdk/tally.h"

/* What the rows' values are about, in time. */
struct harvest_window {
	int64_t start_ns, duration_ns; /* wall clock */
};

/* A profile for each kind that was wanted, over `d`. */
enum err harvest_profiles(const struct tally *t, struct place_names *names,
			  const struct sdk_settings *settings, const struct harvest_window *w,
			  struct dict *d, struct profile_list *ret) MUST_CHECK;
/* All kinds in one profile, a row's other columns 0: for files that hold one. */
enum err harvest_one(const struct tally *t, struct place_names *names,
		     const struct sdk_settings *settings, const struct harvest_window *w,
		     struct profile *ret) MUST_CHECK;
