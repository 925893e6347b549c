/*
 * Memory that runs out at any moment of an engine's life on disk: what was acknowledged is there
 * after the next opening, nothing is there in part, and nothing leaks.
 */
#include "store/scratch.h"
#include "store/store_fixture.h"
#include "test.h"

#define BATCHES	    3
#define NS_PER_HOUR (3600 * NS_PER_S)
#define MANY	    100000

static int64_t test_now(void)
{
	return TEST_TIME + NS_PER_HOUR;
}

static enum err open_at(const char *path, struct store **ret)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	return store_open(&o, ret, NULL);
}

/* Two services, one of them on another day; value 1 each. */
static enum err write_batch(struct store *s, int n)
{
	struct test_profile t[2] = {
		{.service = "shop", .n = n, .time_ns = TEST_TIME, .value = 1, .span = 7},
		{.service = "cart",
		 .n = n,
		 .time_ns = TEST_TIME - 86400 * NS_PER_S,
		 .value = 1,
		 .function = n % 2 ? "odd" : "even"},
	};

	return fixture_write(s, t, 2, NULL);
}

static enum err ignore_service(void *context, struct str service,
			       const struct series_answer *answers)
{
	(void)context, (void)service, (void)answers;
	return ERR_OK;
}

static enum err ask_all(struct store *s)
{
	struct selection all = fixture_all();
	struct services_question services = {
		.ranges = {{TEST_TIME - 86400 * NS_PER_S, TEST_TIME + NS_PER_HOUR}},
		.range_count = 1,
		.step_ns = NS_PER_HOUR};
	struct services_answer whole;
	struct text_answer types = {0};
	struct ask ask = {0};
	struct profile p;
	struct dict d;
	enum err e = dict_init(&d, store_seed(s));

	if (e)
		return e;
	profile_init(&p, &d);
	e = store_merge(s, TEST_TENANT, &all, NULL, 0, &ask, &p);
	profile_release(&p);
	dict_release(&d);
	if (e)
		return e;
	all.type = (struct str){0};
	TRY(store_types(s, TEST_TENANT, &all, &ask, &types));
	arena_release(&types.arena);
	/* Totals are cached by the second query and read by the third. */
	for (int i = 0; i < 3; i++) {
		services.totals_only = i > 0;
		TRY(store_services(s, TEST_TENANT, &all, &services, &ask, ignore_service, NULL,
				   &whole));
		arena_release(&whole.arena);
	}
	return ERR_OK;
}

static enum err delete_odd(struct store *s)
{
	struct matcher odd = {.name = STR("service_name"), .value = STR("nobody")};
	struct selection some = fixture_all();
	struct ask ask = {0};
	uint64_t profiles;

	some.matchers = &odd;
	some.matcher_count = 1;
	return store_delete(s, TEST_TENANT, &some, &ask, &profiles);
}

/* The first failure of memory, and on: each step is taken whatever became of those before it. */
static bool live(const char *path, bool *acknowledged, enum err *ret_strange)
{
	struct store_stats stats;
	struct store *s;
	enum err steps[BATCHES + 6] = {open_at(path, &s)};
	size_t n = 1;

	if (steps[0] == ERR_OK) {
		for (int i = 0; i < BATCHES; i++) {
			steps[n] = write_batch(s, i);
			acknowledged[i] = steps[n++] == ERR_OK;
		}
		steps[n++] = ask_all(s);
		steps[n++] = store_settle(s, true, NULL);
		steps[n++] = ask_all(s);
		steps[n++] = delete_odd(s);
		steps[n++] = store_stats(s, TEST_TENANT, &stats);
		store_close(s);
	}
	for (size_t i = 0; i < n; i++)
		if (steps[i] != ERR_OK && steps[i] != ERR_NO_MEMORY) {
			printf("# step %zu\n", i);
			*ret_strange = steps[i];
			return false;
		}
	return true;
}

static void print_problem(void *context, const char *problem)
{
	(void)context;
	printf("# %s\n", problem);
}

/* As it is after memory is back. */
static bool sound(const char *path, const bool *acknowledged)
{
	int64_t sums[BATCHES];
	struct store *s;
	struct store_checked checked;
	bool fine;

	if (open_at(path, &s) != ERR_OK)
		return false;
	fine = fixture_sums(s, sums, BATCHES) == ERR_OK;
	store_close(s);
	for (int i = 0; fine && i < BATCHES; i++)
		if ((acknowledged[i] && sums[i] != 2) || (sums[i] != 0 && sums[i] != 2)) {
			printf("# batch %d, %sacknowledged, has %lld of 2\n", i,
			       acknowledged[i] ? "" : "not ", (long long)sums[i]);
			fine = false;
		}
	return fine && store_check(path, print_problem, NULL, &checked, NULL) == ERR_OK;
}

/* False when it is over: the life went by without the n-th allocation. */
static bool live_with_failure(long n, bool persist, bool *ret_fine)
{
	CLEANUP(scratch_remove) struct scratch dir;
	bool acknowledged[BATCHES] = {false};
	enum err strange = ERR_OK;
	bool reached;

	scratch_make_fast(&dir);
	alloc_fail_at(n, persist);
	*ret_fine = live(dir.path, acknowledged, &strange);
	reached = alloc_fail_reached();
	alloc_fail_off();
	if (!*ret_fine)
		printf("# allocation %ld: \"%s\"\n", n, err_text(strange));
	else
		*ret_fine = sound(dir.path, acknowledged);
	if (!*ret_fine)
		printf("# with allocation %ld failing\n", n);
	return reached;
}

/* Every one of the first ones, then some: a life has some thousand, and they repeat. */
static long next_to_fail(long n)
{
	return n + (n < 300 ? 1 : 1 + n / 60);
}

static void sweep(bool persist)
{
	bool fine = true;

	for (long n = 0; n < MANY; n = next_to_fail(n)) {
		bool reached = live_with_failure(n, persist, &fine);

		CHECK(fine);
		if (!reached)
			return;
	}
}

TEST(one_failed_allocation_at_any_moment_loses_nothing_acknowledged)
{
	sweep(false);
}

TEST(memory_that_is_gone_for_good_loses_nothing_acknowledged)
{
	sweep(true);
}
