/*
 * Comparing values of attributes; the rest of their functions is in otlp_tables.h.
 */
#pragma once

#include "format/otlp_tables.h"

uint64_t otlp_any_hash(const struct otlp_any *value, uint64_t seed);
bool otlp_any_equal(const struct otlp_any *a, const struct otlp_any *b);
