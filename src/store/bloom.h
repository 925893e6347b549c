/*
 * Private to src/store: a Bloom filter of span ids. Ten bits per span and seven probes: 1 % false
 * positives. The filter is plain bytes.
 */
#pragma once

#include "base/buf.h"

/* Bytes for a filter of `n` ids; 0 for none. */
size_t bloom_size(size_t n);
void bloom_add(uint8_t *filter, size_t size, const uint8_t span_id[8]);
bool bloom_has(const uint8_t *filter, size_t size, const uint8_t span_id[8]);
