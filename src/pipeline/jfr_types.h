/*
 * Pyroscope's type ids for the profiles of a recording: the format's reader names the columns; this
 * adds the profile's name.
 */
#pragma once

#include "base/arena.h"
#include "model/model.h"

/* The id of a column; empty if it is dropped: sample counts next to times. */
enum err jfr_type_id(const struct profile *p, uint32_t column, struct arena *a,
		     struct str *ret) MUST_CHECK;
/* Whether its columns are sample count and time. */
bool jfr_is_time(const struct profile *p);
/* If a recording has no CPU samples, adds its wall-clock samples of running threads as a CPU
 * profile. */
enum err jfr_add_cpu(struct profile_list *list) MUST_CHECK;
