/*
 * Width of characters, and whether they may be sent to a terminal: as wcwidth, without the cost of
 * loading a locale.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The code point of the first `n` bytes, which utf8_length() found valid. */
uint32_t code_point(struct str s, size_t n);
unsigned code_point_width(uint32_t c);
/* Control characters, and marks that change the direction of the following text. */
bool code_point_is_control(uint32_t c);
