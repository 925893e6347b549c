/*
 * The log of services (agent, server). Libraries do not log: they return errors.
 *
 *	log_info("profile stored", log_text("service", name), log_u64("bytes", n));
 *
 * A line is logfmt or JSON, made in a buffer on the stack and written with one write(2), so that
 * lines of several threads never mix and nothing is allocated. Values are untrusted: they are
 * escaped, cut after 512 bytes, and a pair that no longer fits is left out (the line then has
 * cut=true).
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum log_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR, LEVEL_OFF };
enum log_style { LOG_LOGFMT, LOG_JSON };

/* Sets what the process logs; nothing before the first call. Call it before threads start. */
void log_setup(int fd, enum log_level least, enum log_style style);
/* "debug", "info", "warn", "error", "off". */
enum err log_level_parse(struct str text, enum log_level *ret) MUST_CHECK;
bool log_enabled(enum log_level level);

enum log_kind {
	LOG_END,
	LOG_VALUE_STR,
	LOG_VALUE_I64,
	LOG_VALUE_U64,
	LOG_VALUE_F64,
	LOG_VALUE_BOOL
};

struct log_pair {
	enum log_kind kind;
	const char *key; /* a constant: letters, digits, dots and underscores */
	union {
		struct str s;
		int64_t i;
		uint64_t u;
		double f;
		bool b;
	};
};

#define log_str(key_, value_)  ((struct log_pair){LOG_VALUE_STR, key_, {.s = (value_)}})
#define log_text(key_, value_) log_str(key_, str_of(value_))
#define log_i64(key_, value_)  ((struct log_pair){LOG_VALUE_I64, key_, {.i = (value_)}})
#define log_u64(key_, value_)  ((struct log_pair){LOG_VALUE_U64, key_, {.u = (value_)}})
#define log_f64(key_, value_)  ((struct log_pair){LOG_VALUE_F64, key_, {.f = (value_)}})
#define log_bool(key_, value_) ((struct log_pair){LOG_VALUE_BOOL, key_, {.b = (value_)}})
#define log_err(error_)	       log_text("error", err_text(error_))

/* `pairs` ends with LOG_END. */
void log_write(enum log_level level, const char *message, const struct log_pair *pairs);

/* Values are not evaluated if the level is off. */
#define LOG_AT(level_, ...)                                          \
	do {                                                         \
		if (log_enabled(level_))                             \
			LOG_PAIRS(level_, __VA_ARGS__, LOG_NO_MORE); \
	} while (0)
#define LOG_NO_MORE ((struct log_pair){LOG_END, NULL, {.u = 0}})
#define LOG_PAIRS(level_, message_, ...) \
	log_write(level_, message_, (const struct log_pair[]){__VA_ARGS__})

#define log_debug(...) LOG_AT(LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)  LOG_AT(LEVEL_INFO, __VA_ARGS__)
#define log_warn(...)  LOG_AT(LEVEL_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT(LEVEL_ERROR, __VA_ARGS__)
