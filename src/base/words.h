/*
 * Suggestions for mistyped words.
 */
#pragma once

#include "base/str.h"

/* The entry of `words` that is nearest to `word`, or NULL if none is near enough. */
const char *nearest_word(struct str word, const char *const *words, size_t n);
