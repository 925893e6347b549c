/*
 * A store in a folder of its own whose clock the test sets.
 */
#pragma once

#include "store/scratch.h"
#include "store/store.h"
#include "store/store_fixture.h"
#include "test.h"

static _Atomic(int64_t) now = TEST_TIME;

static inline int64_t test_now(void)
{
	return now;
}

static inline void close_store(struct store **s)
{
	store_close(*s);
}

static inline enum err open_at(const char *path, struct store **ret)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	return store_open(&o, ret, NULL);
}

#define MINUTE (60 * NS_PER_S)

static inline enum err write_one(struct store *s, const char *service, int n, int64_t time_ns,
				 int64_t value)
{
	struct test_profile t = {.service = service, .n = n, .time_ns = time_ns, .value = value};

	return fixture_write(s, &t, 1, NULL);
}
