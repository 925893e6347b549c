/*
 * Turns a tally into profiles for sending or writing.
 */
#pragma once

#include "model/model.h"
#include "sdk/place_names.h"
#include "sdk/sdk_settings.h"
#include "sdk/tally.h"

/* The time covered by the values. */
struct harvest_window {
	int64_t start_ns, duration_ns; /* wall clock */
};

/* One profile per configured kind, over `d`. */
enum err harvest_profiles(const struct tally *t, struct place_names *names,
			  const struct sdk_settings *settings, const struct harvest_window *w,
			  struct dict *d, struct profile_list *ret) MUST_CHECK;
/* All kinds in one profile, with 0 in the other columns: for files with one profile. */
enum err harvest_one(const struct tally *t, struct place_names *names,
		     const struct sdk_settings *settings, const struct harvest_window *w,
		     struct profile *ret) MUST_CHECK;
