/*
 * How wide a character is and whether a terminal may see it: what wcwidth does, without the cost
 * of loading a locale.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The code point of the first `n` bytes, which utf8_length() found valid. */
uint32_t code_point(struct str s, size_t n);
unsigned code_point_width(uint32_t c);
/* Controls, and the marks that turn the direction of everything after them. */
bool code_point_is_control(uint32_t c);
