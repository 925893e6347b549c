#pragma once

#include "model/model.h"

/*
 * A profile cut down to what `go build -pgo` looks at: of every stack the `keep` locations nearest
 * to the leaf (0 = all), and, when asked, the leaf without its line, so that samples anywhere in a
 * function are one.
 */
enum err profile_keep_callees(struct profile *p, uint64_t keep, bool aggregate) MUST_CHECK;
