/*
 * Words people mistype.
 */
#pragma once

#include "base/str.h"

/* The entry of `words` nearest to `word`, or NULL when none is near enough to suggest. */
const char *nearest_word(struct str word, const char *const *words, size_t n);
