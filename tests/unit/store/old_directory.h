/*
 * What is in tests/fixtures/store-1, a directory written by the first format of the store: profiles
 * of ten seconds on two days, some across the end of an hour or of the day; in blocks and roll-ups,
 * and two that came after those were made.
 */
#pragma once

#include "store/store_fixture.h"

#define OLD_PROFILES 150
#define OLD_FRESH    2

static inline struct test_profile old_profile(int i)
{
	static const char *const functions[] = {"parse", "render", "gc"};
	struct test_profile t = {
		.service = i % 3 ? "api" : "web",
		.n = i % 2,
		/* Every 17 minutes and 55 seconds: the first hour ends five seconds after one. */
		.time_ns = TEST_TIME - 12 * 3600 * NS_PER_S + i * 1075 * NS_PER_S - 5 * NS_PER_S,
		.value = 1000003 * (i + 1),
		.function = functions[i % 3],
	};

	if (i % 4 == 0) {
		/* To five seconds before the next hour. */
		int64_t hour = 3600 * NS_PER_S;

		t.time_ns = t.time_ns / hour * hour + hour - 5 * NS_PER_S;
	}
	return t;
}
