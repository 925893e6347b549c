/*
 * Base64, in the standard alphabet.
 */
#pragma once

#include "base/buf.h"

/* Appends the text of `bytes`; HTTP's binary headers and Connect go without padding. */
void base64_put(struct buf *out, struct str bytes, bool padded);
/*
 * Standard or URL alphabet, padded or not; false when it is neither. `out` has room for three
 * quarters of the text.
 */
bool base64_decode(struct str text, uint8_t *out, size_t *ret_n);
