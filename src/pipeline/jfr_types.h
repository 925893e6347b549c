/*
 * Profiles of a recording under the names that Pyroscope's users know. The reader of the format
 * calls columns after what they are, whichever way they come; here their kind is put before.
 */
#pragma once

#include "base/arena.h"
#include "model/model.h"

/* The id of a column, empty for one that is not kept: counts of samples beside their time. */
enum err jfr_type_id(const struct profile *p, uint32_t column, struct arena *a,
		     struct str *ret) MUST_CHECK;
/* Whether its columns are a count of samples and their time. */
bool jfr_is_time(const struct profile *p);
/* Wall-clock samples of running threads are samples of processor time, where the recording has no
 * others: adds them as a profile. */
enum err jfr_add_cpu(struct profile_list *list) MUST_CHECK;
