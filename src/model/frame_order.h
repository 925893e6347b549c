/*
 * Private to src/model: the order of frames by the name people see, so that equal input gives
 * equal output.
 */
#pragma once

#include "model/dict.h"

/* As the texts "name" or, with lines, "name file:line" compare byte by byte; frames without a
 * function by module and offset. 0 only for frames that show the same. */
int frame_compare(const struct dict *d, uint32_t a, uint32_t b, bool lines);
