/*
 * Labels of threads. Each distinct set is interned once per process and has a number that fits into
 * a sample. Sets are never freed, and their number is limited.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

#define LABELS_OF_THREAD 8
#define LABEL_KEY_MAX	 63
#define LABEL_VALUE_MAX	 255

/*
 * The set `set` with this label; value.p NULL removes the key. Thread safe, not async-signal-safe.
 */
enum err label_sets_with(u32 set, struct str key, struct str value, u32 *ret,
			 struct fault *fault) MUST_CHECK;
/* The n-th label of a set; false after the last. The strings are never freed. */
bool label_sets_get(u32 set, u32 n, struct str *ret_key, struct str *ret_value);
void label_sets_before_fork(void);
void label_sets_after_fork(void);
