/* The response to an OTLP exporter: empty, or the number of rejected items and the reason. */
#pragma once

#include "pipeline/pipeline.h"

/* `spans`: the reply of a trace receiver. */
void otlp_reply_write(const struct received *result, bool spans, bool json, struct buf *out);
