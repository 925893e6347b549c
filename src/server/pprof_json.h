/* A pprof profile in protobuf's JSON, for clients of SelectMergeProfile that use JSON. */
#pragma once

#include "base/buf.h"

enum err pprof_to_json(struct str profile, struct buf *out) MUST_CHECK;
