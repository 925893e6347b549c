/* What an OTLP exporter is told: nothing, or how much was rejected and why. */
#pragma once

#include "pipeline/pipeline.h"

/* `spans`: the reply of a trace receiver. */
void otlp_reply_write(const struct received *result, bool spans, bool json, struct buf *out);
