#pragma once

#include "model/model.h"

/*
 * Reduces a profile to what `go build -pgo` uses: of every stack the `keep` locations nearest to
 * the leaf (0 = all), optionally with the leaf without its line, so that samples anywhere in a
 * function are merged.
 */
enum err profile_keep_callees(struct profile *p, uint64_t keep, bool aggregate) MUST_CHECK;
