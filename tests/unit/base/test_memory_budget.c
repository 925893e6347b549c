#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/memory_limit.h"
#include "base/thread.h"
#include "base/work_scope.h"

#define MIB ((size_t)1 << 20)

static void budget_free(struct memory_budget **b)
{
	memory_budget_free(*b);
}

static void account_put(struct memory_account **a)
{
	memory_account_put(*a);
}

#define BUDGET(name_, limit_)                                    \
	CLEANUP(budget_free) struct memory_budget *name_ = NULL; \
	CHECK_OK(memory_budget_new(limit_, &name_))
#define ACCOUNT(name_, budget_)                                   \
	CLEANUP(account_put) struct memory_account *name_ = NULL; \
	CHECK_OK(memory_account_get(budget_, STR(#name_), &name_))

TEST(a_charge_shows_in_the_account_and_in_the_total)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);

	CHECK_OK(memory_charge(a, MEMORY_DECODED, 3 * MIB, NULL));
	CHECK_OK(memory_charge(a, MEMORY_UNSENT, MIB, NULL));
	memory_give_back(a, MEMORY_DECODED, 2 * MIB);
	CHECK_INT(memory_account_look(a).used, 2 * MIB);
	CHECK_INT(memory_account_look(a).peak, 4 * MIB);
	CHECK_INT(memory_account_look(a).by_use[MEMORY_DECODED], MIB);
	CHECK_INT(memory_budget_look(b).all.used, 2 * MIB);
	CHECK_INT(memory_budget_look(b).all.by_use[MEMORY_UNSENT], MIB);
	memory_give_back(a, MEMORY_DECODED, MIB);
	memory_give_back(a, MEMORY_UNSENT, MIB);
	CHECK_INT(memory_budget_look(b).all.used, 0);
	CHECK_INT(memory_budget_look(b).all.peak, 4 * MIB);
}

TEST(one_account_gets_half_and_leaves_the_last_quarter_to_small_ones)
{
	struct fault fault = {0};
	BUDGET(b, 64 * MIB);
	ACCOUNT(large, b);
	ACCOUNT(other, b);
	ACCOUNT(small, b);

	CHECK_ERR(memory_charge(large, MEMORY_WORKING, 33 * MIB, &fault), ERR_TOO_LARGE);
	CHECK_OK(memory_charge(large, MEMORY_WORKING, 32 * MIB, NULL));
	CHECK_ERR(memory_charge(large, MEMORY_WORKING, 1, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "try again"));
	CHECK_OK(memory_charge(other, MEMORY_WORKING, 16 * MIB, NULL));
	CHECK_ERR(memory_charge(other, MEMORY_WORKING, MIB, NULL), ERR_BUSY);
	CHECK_OK(memory_charge(small, MEMORY_WORKING, 4 * MIB, NULL));
	CHECK_ERR(memory_charge(small, MEMORY_WORKING, 1, NULL), ERR_BUSY);
	CHECK_INT(memory_budget_look(b).all.used, 52 * MIB);
	CHECK_INT(memory_budget_look(b).all.refused, 4);
	CHECK_INT(memory_account_look(other).by_use[MEMORY_WORKING], 16 * MIB);
	memory_give_back(large, MEMORY_WORKING, 32 * MIB);
	memory_give_back(other, MEMORY_WORKING, 16 * MIB);
	memory_give_back(small, MEMORY_WORKING, 4 * MIB);
}

TEST(a_use_has_a_ceiling_over_all_accounts)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);
	ACCOUNT(c, b);

	memory_budget_set_ceiling(b, MEMORY_RECEIVED, 2 * MIB);
	CHECK_OK(memory_charge(a, MEMORY_RECEIVED, MIB, NULL));
	CHECK_OK(memory_charge(c, MEMORY_RECEIVED, MIB, NULL));
	CHECK_ERR(memory_charge(c, MEMORY_RECEIVED, 1, NULL), ERR_BUSY);
	CHECK_OK(memory_charge(c, MEMORY_DECODED, 1, NULL));
	memory_give_back(a, MEMORY_RECEIVED, MIB);
	memory_give_back(c, MEMORY_RECEIVED, MIB);
	memory_give_back(c, MEMORY_DECODED, 1);
}

TEST(what_is_measured_counts_and_caches_are_asked_in_their_order)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);

	CHECK_OK(memory_charge(a, MEMORY_WORKING, 4 * MIB, NULL));
	memory_budget_measured(b, 60 * MIB);
	CHECK_INT(memory_budget_look(b).measured, 56 * MIB);
	CHECK_ERR(memory_charge(a, MEMORY_WORKING, MIB, NULL), ERR_BUSY);
	memory_budget_measured(b, 3 * MIB);
	CHECK_INT(memory_budget_look(b).measured, 0);
	CHECK_OK(memory_charge(a, MEMORY_WORKING, MIB, NULL));
	memory_give_back(a, MEMORY_WORKING, 5 * MIB);
}

struct toy_cache {
	struct memory_account *account;
	const char *name;
	size_t kept, asked;
};

static size_t shrink_toy(void *context, struct str account, size_t wanted)
{
	struct toy_cache *c = context;
	size_t n = wanted < c->kept ? wanted : c->kept;

	if (account.n && !str_eq(account, str_of(c->name)))
		return 0;
	c->asked += wanted;
	c->kept -= n;
	memory_give_back(c->account, MEMORY_CACHED, n);
	return n;
}

TEST(caches_shrink_until_three_quarters_are_used)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);
	ACCOUNT(c, b);
	struct toy_cache first = {a, "a", 8 * MIB, 0}, second = {c, "c", 20 * MIB, 0};

	CHECK_OK(memory_budget_add_cache(b, shrink_toy, &first));
	CHECK_OK(memory_budget_add_cache(b, shrink_toy, &second));
	memory_take(a, MEMORY_CACHED, first.kept);
	memory_take(c, MEMORY_CACHED, second.kept);
	CHECK(!memory_budget_shrink(b));
	memory_take(a, MEMORY_WORKING, 30 * MIB);
	CHECK(memory_budget_shrink(b));
	CHECK_INT(first.kept, 0);
	CHECK_INT(second.kept, 18 * MIB);
	CHECK_INT(memory_budget_look(b).all.used, 48 * MIB);
	CHECK_INT(memory_budget_look(b).shrunk, 10 * MIB);
	memory_give_back(a, MEMORY_WORKING, 30 * MIB);
	memory_give_back(c, MEMORY_CACHED, second.kept);
}

TEST(an_account_gives_up_what_is_cached_for_it_before_others_do)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(large, b);
	ACCOUNT(other, b);
	struct toy_cache of_large = {large, "large", 20 * MIB, 0},
			 of_other = {other, "other", 8 * MIB, 0};

	CHECK_OK(memory_budget_add_cache(b, shrink_toy, &of_other));
	CHECK_OK(memory_budget_add_cache(b, shrink_toy, &of_large));
	memory_take(large, MEMORY_CACHED, of_large.kept);
	memory_take(other, MEMORY_CACHED, of_other.kept);
	/* More than half in total: an account's caches do not count against it. */
	CHECK_OK(memory_charge(large, MEMORY_WORKING, 14 * MIB, NULL));
	CHECK(memory_budget_shrink(b));
	CHECK_INT(of_large.kept, 10 * MIB);
	CHECK_INT(of_other.kept, 8 * MIB);
	CHECK_INT(memory_account_look(large).used, 24 * MIB);
	CHECK(!memory_budget_shrink(b));
	/* Apart from that it holds little: it is still small, and may use the last quarter. */
	memory_budget_measured(b, 32 * MIB + 17 * MIB);
	CHECK_OK(memory_charge(other, MEMORY_WORKING, 4 * MIB, NULL));
	CHECK_ERR(memory_charge(large, MEMORY_WORKING, 4 * MIB, NULL), ERR_BUSY);
	memory_give_back(other, MEMORY_WORKING, 4 * MIB);
	memory_give_back(large, MEMORY_WORKING, 14 * MIB);
	memory_give_back(large, MEMORY_CACHED, of_large.kept);
	memory_give_back(other, MEMORY_CACHED, of_other.kept);
}

TEST(a_hold_follows_its_memory_and_ends_once)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);
	struct memory_hold h = {0}, none = {0};

	CHECK_OK(memory_hold_grow(&h, a, MEMORY_RECEIVED, 10, NULL));
	CHECK_OK(memory_hold_grow(&h, a, MEMORY_RECEIVED, 30, NULL));
	CHECK_INT(memory_account_look(a).by_use[MEMORY_RECEIVED], 30);
	CHECK_ERR(memory_hold_grow(&h, a, MEMORY_RECEIVED, 60 * MIB, NULL), ERR_TOO_LARGE);
	CHECK_INT(h.n, 30);
	memory_hold_set(&h, a, MEMORY_RECEIVED, 40 * MIB);
	CHECK_INT(memory_account_look(a).used, 40 * MIB);
	memory_hold_release(&h);
	memory_hold_release(&h);
	CHECK_INT(memory_account_look(a).used, 0);
	CHECK_OK(memory_hold_grow(&none, NULL, MEMORY_RECEIVED, SIZE_MAX, NULL));
	memory_hold_release(&none);
}

TEST(accounts_nobody_uses_are_forgotten_and_others_stay)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(kept, b);
	struct memory_account *a;
	char name[16];

	memory_take(kept, MEMORY_CACHED, 7);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		CHECK_OK(memory_account_get(b, str_of(name), &a));
		memory_account_put(a);
	}
	CHECK_OK(memory_account_get(b, STR("kept"), &a));
	CHECK(a == kept);
	CHECK_INT(memory_account_look(a).used, 7);
	memory_give_back(a, MEMORY_CACHED, 7);
	memory_account_put(a);
}

/* ------------------------------------------------------------------ threads */

struct crowd {
	struct memory_account *accounts[2];
	atomic_size_t failures;
	atomic_size_t at;
};

static void charge_and_give_back(void *context)
{
	struct crowd *c = context;
	struct memory_account *a = c->accounts[atomic_fetch_add(&c->at, 1) % 2];

	for (size_t i = 0; i < 3000; i++) {
		size_t n = 1 + i * 37 % (2 * MIB);

		if (memory_charge_wait(a, MEMORY_WORKING, n, clock_monotonic_ns() + 600 * NS_PER_S,
				       NULL, NULL))
			atomic_fetch_add(&c->failures, 1);
		else
			memory_give_back(a, MEMORY_WORKING, n);
	}
}

TEST(threads_share_a_budget_too_small_for_all_of_them)
{
	BUDGET(b, 5 * MIB);
	ACCOUNT(one, b);
	ACCOUNT(two, b);
	struct crowd c = {.accounts = {one, two}};
	struct thread threads[6];

	for (size_t i = 0; i < 6; i++)
		CHECK_OK(thread_start(&threads[i], "charge", charge_and_give_back, &c));
	for (size_t i = 0; i < 6; i++)
		thread_join(&threads[i]);
	CHECK_INT(c.failures, 0);
	CHECK_INT(memory_budget_look(b).all.used, 0);
	CHECK_INT(memory_account_look(one).used, 0);
	CHECK(memory_budget_look(b).all.peak <= 5 * MIB);
}

struct waiter {
	struct memory_account *account;
	atomic_bool stop;
	atomic_int error;
};

static void wait_long(void *context)
{
	struct waiter *w = context;

	atomic_store(&w->error, (int)memory_charge_wait(w->account, MEMORY_WORKING, MIB,
							clock_monotonic_ns() + 600 * NS_PER_S,
							&w->stop, NULL));
}

TEST(a_charge_that_waits_ends_when_nobody_wants_it)
{
	BUDGET(b, 8 * MIB);
	ACCOUNT(a, b);
	struct waiter w = {.account = a};
	struct thread t;

	memory_take(a, MEMORY_WORKING, 8 * MIB);
	CHECK_OK(thread_start(&t, "wait", wait_long, &w));
	atomic_store(&w.stop, true);
	thread_join(&t);
	CHECK_INT(w.error, ERR_BUSY);
	CHECK_ERR(memory_charge_wait(a, MEMORY_WORKING, 1, clock_monotonic_ns(), NULL, NULL),
		  ERR_BUSY);
	memory_give_back(a, MEMORY_WORKING, 8 * MIB);
}

TEST(a_budget_without_memory_is_reported)
{
	struct memory_budget *b = NULL;
	struct memory_account *a;

	ALLOC_SWEEP(memory_budget_new(MIB, &b));
	ALLOC_SWEEP(memory_account_get(b, STR("a"), &a));
	memory_account_put(a);
	memory_budget_free(b);
}

/* ------------------------------------------------------------------ scopes */

TEST(a_scope_counts_what_its_thread_takes_and_frees)
{
	BUDGET(b, 64 * MIB);
	ACCOUNT(a, b);
	struct work_scope s;
	char *before = mem_alloc(MIB), *p, *q;

	work_scope_begin(&s, &(struct work_terms){.account = a, .use = MEMORY_WORKING});
	p = mem_alloc(3 * MIB);
	q = mem_zalloc(2, MIB);
	CHECK(p && q && s.used >= 5 * MIB && s.used < 6 * MIB);
	CHECK(memory_account_look(a).by_use[MEMORY_WORKING] >= 5 * MIB);
	work_scope_use(MEMORY_DECODED);
	CHECK_INT(memory_account_look(a).by_use[MEMORY_WORKING], 0);
	CHECK(memory_account_look(a).by_use[MEMORY_DECODED] >= 5 * MIB);
	mem_free(p);
	CHECK(s.used >= 2 * MIB && s.used < 3 * MIB);
	CHECK(memory_account_look(a).used < 4 * MIB);
	/* Of memory from outside only the growth counts. */
	before = mem_realloc(before, 2 * MIB);
	CHECK(s.used >= 3 * MIB && s.used < 4 * MIB);
	mem_free(before);
	mem_free(q);
	work_scope_end(&s);
	CHECK_INT(memory_account_look(a).used, 0);
	CHECK(!work_scope_now());
}

TEST(a_scope_refuses_above_its_ceiling_and_says_so)
{
	struct work_scope s;
	struct fault fault = {0};
	enum err error;

	work_scope_begin(&s, &(struct work_terms){.ceiling = MIB});
	CHECK(!mem_alloc(2 * MIB));
	CHECK(!mem_zalloc(SIZE_MAX / 2, 4));
	error = work_scope_error(&s, ERR_NO_MEMORY, &fault);
	CHECK_ERR(error, ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "1048576"));
	CHECK_ERR(work_scope_error(&s, ERR_CORRUPT, NULL), ERR_CORRUPT);
	work_scope_end(&s);
}

TEST(a_scope_fails_when_the_budget_is_used_up_or_nobody_wants_it)
{
	BUDGET(b, 4 * MIB);
	ACCOUNT(a, b);
	struct work_scope s;
	atomic_bool stop = false;
	void *p;

	work_scope_begin(&s,
			 &(struct work_terms){.account = a, .use = MEMORY_WORKING, .stop = &stop});
	p = mem_alloc(MIB);
	CHECK(p);
	memory_take(a, MEMORY_UNSENT, 3 * MIB);
	CHECK(!mem_alloc(MIB));
	CHECK_ERR(work_scope_error(&s, ERR_NO_MEMORY, NULL), ERR_BUSY);
	memory_give_back(a, MEMORY_UNSENT, 3 * MIB);
	mem_free(p);
	CHECK(!work_stopped());
	atomic_store(&stop, true);
	CHECK(work_stopped());
	work_scope_end(&s);
	CHECK(!work_stopped());
}

/* ------------------------------------------------------------------ limits of the system */

static void put(const char *root, const char *path, const char *text)
{
	char full[4096], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

TEST(the_least_limit_of_a_group_and_those_above_it_holds)
{
	char root[] = "/tmp/vestal-limit-XXXXXX", command[64];
	bool group;

	CHECK(mkdtemp(root));
	put(root, "proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
	CHECK_INT(memory_limit_below(root, &group), (size_t)16 << 30);
	CHECK(!group);
	put(root, "proc/self/cgroup", "0::/system.slice/vestal.service\n");
	put(root, "sys/fs/cgroup/system.slice/vestal.service/memory.max", "max\n");
	CHECK_INT(memory_limit_below(root, &group), (size_t)16 << 30);
	put(root, "sys/fs/cgroup/system.slice/memory.max", "536870912\n");
	CHECK_INT(memory_limit_below(root, &group), 512 * MIB);
	CHECK(group);
	put(root, "proc/self/cgroup", "5:cpu,memory:/docker/12\n0::/\n");
	put(root, "sys/fs/cgroup/memory/docker/12/memory.limit_in_bytes", "268435456\n");
	put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_INT(memory_limit_below(root, &group), 256 * MIB);
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

TEST(this_process_has_memory_and_a_default)
{
	CHECK(memory_resident() > 64 << 10);
	CHECK(memory_limit_default() > MIB);
}
