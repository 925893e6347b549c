/* Prefix codes of limited length for symbols that were counted, as deflate numbers them (RFC 1951).
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define CODES_MOST 288u

struct code {
	uint32_t count; /* how often the symbol comes; given */
	uint16_t bits;	/* first bit lowest */
	uint8_t length; /* 0 = the symbol has none */
};

/* Gives every symbol that comes a code of up to `longest` bits; at least one symbol has a code. */
void codes_make(struct code *codes, uint32_t n, uint32_t longest);
