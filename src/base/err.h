/*
 * Errors. A function that can fail returns `enum err` (ERR_OK is 0) and the compiler warns if the
 * result is ignored. If users need more than the code, the function also takes a `struct fault *`,
 * which may be NULL and is filled only on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK	  __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define CLEANUP(fn)	  __attribute__((cleanup(fn)))

enum err {
#define ERR(code, label, http, grpc, retry, text) ERR_##code,
#include "base/err.def"
#undef ERR
	ERR_COUNT_
};

/* An error message for users. `text` is one sentence without a newline. */
struct fault {
	enum err code;
	char text[400];
};

const char *err_text(enum err e);
const char *err_label(enum err e);
int err_http(enum err e);
int err_grpc(enum err e);
bool err_retry(enum err e);
/* The error that stands for an errno value. */
enum err err_from_errno(int os_error);

/* Fills `f` unless it is NULL, and returns `code`, for `return fault_set(...)`. */
enum err fault_set(struct fault *f, enum err code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Prepends "prefix: " to the text of a fault; no effect if there is no text. */
void fault_prefix(struct fault *f, const char *prefix);

/* Returns from the calling function when an expression yields an error. */
#define TRY(expression)                                        \
	do {                                                   \
		enum err try_error_ = (expression);            \
		if (__builtin_expect(try_error_ != ERR_OK, 0)) \
			return try_error_;                     \
	} while (0)
