/*
 * Labels of threads. A set of them is interned, once for the process, and known by a number that
 * fits into a sample; sets are never forgotten, and there is room for a bounded number of them.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

#define LABELS_OF_THREAD 8
#define LABEL_KEY_MAX	 63
#define LABEL_VALUE_MAX	 255

/*
 * The set that `set` becomes with this label; value.p NULL takes the key away. Any thread, no
 * signal handler.
 */
enum err label_sets_with(u32 set, struct str key, struct str value, u32 *ret,
			 struct fault *fault) MUST_CHECK;
/* The n-th label of a set; false behind the last. The texts stay for good. */
bool label_sets_get(u32 set, u32 n, struct str *ret_key, struct str *ret_value);
void label_sets_before_fork(void);
void label_sets_after_fork(void);
