/* Private to src/store: finds damaged rows of a file while it is copied. */
#pragma once

#include "store/embedded.h"

/* Reads all rows of a snapshot of the day. `ret_damage` is set if one is damaged or missing, and
 * else left alone. `fault` must not be NULL. */
enum err copy_verify(struct day *d, struct db *reader, const struct ledger *ledger,
		     struct fault *ret_damage, struct fault *fault) MUST_CHECK;
