/*
 * Private to src/model: the order of frames by displayed name, so that equal input gives equal
 * output.
 */
#pragma once

#include "model/dict.h"

/* Compares the texts "name" or, with lines, "name file:line" bytewise; frames without a function by
 * module and offset. 0 only if both are displayed alike. */
int frame_compare(const struct dict *d, uint32_t a, uint32_t b, bool lines);
