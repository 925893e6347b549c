/*
 * The unit-test harness: a test file is a program, its tests register themselves, and it speaks
 * TAP. A test is named by what it proves.
 *
 *	TEST(arena_refuses_more_than_its_ceiling)
 *	{
 *		CHECK(arena_alloc(&a, 101) == NULL);
 *	}
 *
 * CHECK fails the test and leaves it; so a test must not hold things the leak checker would
 * report only because it left early: use CLEANUP where that matters.
 *
 * ALLOC_SWEEP(expression) runs an expression of type `enum err` again and again, each time with a
 * later allocation failing, until it succeeds: every failure on the way must be ERR_NO_MEMORY.
 * The leak checker sees what a failing path forgot.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *t);
void test_fail(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
/* Marks the running test as skipped; return right after. */
void test_skip(const char *why);
bool test_failed(void);

#define TEST(name_)                                                     \
	static void test_##name_(void);                                 \
	__attribute__((constructor)) static void register_##name_(void) \
	{                                                               \
		static struct test t = {#name_, test_##name_, NULL};    \
		test_register(&t);                                      \
	}                                                               \
	static void test_##name_(void)

#define CHECK(condition)                                                 \
	do {                                                             \
		if (!(condition)) {                                      \
			test_fail(__FILE__, __LINE__, "%s", #condition); \
			return;                                          \
		}                                                        \
	} while (0)

#define CHECK_OK(expression) CHECK_ERR(expression, ERR_OK)

#define CHECK_ERR(expression, expected)                                                  \
	do {                                                                             \
		enum err got_ = (expression), want_ = (expected);                        \
		if (got_ != want_) {                                                     \
			test_fail(__FILE__, __LINE__, "%s gave \"%s\", expected \"%s\"", \
				  #expression, err_text(got_), err_text(want_));         \
			return;                                                          \
		}                                                                        \
	} while (0)

#define CHECK_INT(expression, expected)                                                         \
	do {                                                                                    \
		long long got_ = (long long)(expression), want_ = (long long)(expected);        \
		if (got_ != want_) {                                                            \
			test_fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #expression, \
				  got_, want_);                                                 \
			return;                                                                 \
		}                                                                               \
	} while (0)

/* `expression` yields a struct str. */
#define CHECK_STR(expression, expected)                                                  \
	do {                                                                             \
		struct str got_ = (expression);                                          \
		if (!str_eq(got_, str_of(expected))) {                                   \
			test_fail(__FILE__, __LINE__, "%s is \"%.*s\", expected \"%s\"", \
				  #expression, (int)got_.n, got_.p, expected);           \
			return;                                                          \
		}                                                                        \
	} while (0)

#define ALLOC_SWEEP(expression)                                                         \
	do {                                                                            \
		for (long sweep_ = 0; sweep_ < 100000; sweep_++) {                      \
			enum err got_;                                                  \
			alloc_fail_at(sweep_, false);                                   \
			got_ = (expression);                                            \
			alloc_fail_off();                                               \
			if (!alloc_fail_reached()) {                                    \
				if (got_ != ERR_OK)                                     \
					test_fail(__FILE__, __LINE__, "%s gave \"%s\"", \
						  #expression, err_text(got_));         \
				break;                                                  \
			}                                                               \
			if (got_ != ERR_NO_MEMORY && got_ != ERR_OK) {                  \
				test_fail(__FILE__, __LINE__,                           \
					  "%s with allocation %ld failing gave \"%s\"", \
					  #expression, sweep_, err_text(got_));         \
				break;                                                  \
			}                                                               \
		}                                                                       \
	} while (0)
