/*
 * Deleted data stays deleted, and acknowledged data stays. Random sequences of uploads, deletes,
 * retention, compaction, roll-ups, backups, restarts, kills and power cuts are compared with a
 * model after every restart. A power cut may happen at any write or sync; unsynced writes are then
 * lost, torn, or kept without earlier ones.
 *
 * STORE_ORDERS sets the number of sequences, STORE_CUTS the number of cuts per operation,
 * STORE_SEED the random seed.
 */
#include <sys/stat.h>

#include "test.h"

#include "base/file.h"
#include "store/fault_vfs.h"
#include "store/old_directory.h"
#include "store/partition.h"
#include "store/scratch.h"

#define IDS	  240
#define RETENTION (3 * NS_PER_DAY)
#define WHOLE	  6

static _Atomic(int64_t) now;

static int64_t test_now(void)
{
	return now;
}

static uint64_t chance_state;

static uint32_t chance(uint32_t n)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return n ? (uint32_t)((chance_state >> 33) % n) : 0;
}

/* ------------------------------------------------------------------ the model */

/* Expected state of a profile: deleted, stored, or unknown because its upload was not
 * acknowledged. */
enum fate { GONE, THERE, OPEN };

struct model {
	enum fate fate[IDS];
	struct test_profile profile[IDS];
	int pair[IDS]; /* other profile of the same unacknowledged batch; -1 = none */
	int n;
};

static enum err open_at(const char *path, struct store **ret, struct fault *fault)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	o.retention_ns = RETENTION;
	o.limits.max_age_ns = 30 * NS_PER_DAY;
	return store_open(&o, ret, fault);
}

static bool is_old(const struct test_profile *t)
{
	return (t->time_ns / NS_PER_DAY + 1) * NS_PER_DAY < now - RETENTION;
}

/* Retention also runs in the background: old profiles may be deleted at any time. */
static void let_old_go(struct model *m, bool certain)
{
	for (int i = 0; i < m->n; i++)
		if (m->fate[i] != GONE && is_old(&m->profile[i])) {
			m->fate[i] = certain ? GONE : OPEN;
			m->pair[i] = -1;
		}
}

static bool compare(struct model *m, struct store *s, const char *when)
{
	static int64_t sums[IDS];
	bool good = true;

	if (fixture_sums(s, sums, IDS) != ERR_OK) {
		printf("# %s: the question failed\n", when);
		return false;
	}
	for (int i = 0; i < m->n; i++) {
		bool there = sums[i] == WHOLE, partial = sums[i] && !there;
		int pair = m->pair[i];

		if (pair >= 0 && (sums[pair] == WHOLE) != there) {
			printf("# %s: half a batch: %d and %d\n", when, i, pair);
			good = false;
		}
		if (partial || (m->fate[i] == THERE && !there) || (m->fate[i] == GONE && there)) {
			printf("# %s: profile %d (%s) should be %s, has %lld of %d\n", when, i,
			       m->profile[i].service, m->fate[i] == THERE ? "there" : "gone",
			       (long long)sums[i], WHOLE);
			good = false;
		}
	}
	/* Unknown states are settled by what was found, except for old profiles, which retention
	 * may delete. */
	for (int i = 0; i < m->n; i++)
		if (m->fate[i] == OPEN) {
			m->fate[i] = sums[i] ? THERE : GONE;
			m->pair[i] = -1;
		}
	let_old_go(m, false);
	return good;
}

/* ------------------------------------------------------------------ operations */

static void upload(struct model *m, struct store *s)
{
	static const char *const services[] = {"shop", "cart", "pay"};
	static const char *const functions[] = {"parse", "render", "gc"};
	int n = chance(3) ? 1 : 2, first = m->n;
	bool stored;

	if (m->n + n > IDS)
		return;
	for (int i = 0; i < n; i++) {
		struct test_profile *t = &m->profile[m->n];
		/* A profile of the last days, sometimes of one that is about to expire. */
		int64_t age = chance(8) ? (int64_t)chance(3) : 4;

		*t = (struct test_profile){
			.service = services[chance(3)],
			.n = m->n,
			.time_ns = now - age * NS_PER_DAY - (int64_t)chance(7200) * NS_PER_S,
			.value = WHOLE,
			.function = functions[chance(3)],
		};
		m->pair[m->n] = -1;
		m->fate[m->n++] = OPEN;
	}
	stored = fixture_write(s, &m->profile[first], (size_t)n, NULL) == ERR_OK;
	for (int i = first; i < first + n; i++) {
		if (stored)
			m->fate[i] = THERE;
		else if (n == 2 && !fault_vfs_power_is_off())
			m->fate[i] = GONE;
		if (!stored && n == 2 && !is_old(&m->profile[first]) &&
		    !is_old(&m->profile[first + 1]))
			m->pair[i] = i == first ? first + 1 : first;
	}
	let_old_go(m, false);
}

static void delete_some(struct model *m, struct store *s)
{
	static const char *const services[] = {"shop", "cart", "pay"};
	const char *service = services[chance(3)];
	char number[20];
	struct matcher matchers[2] = {{STR("service_name"), MATCH_EQUAL, str_of(service), NULL}};
	struct selection sel = fixture_all();
	int only = m->n && chance(2) ? (int)chance((uint32_t)m->n) : -1;
	uint64_t removed;
	bool done;

	snprintf(number, sizeof(number), "%d", only);
	sel.type = (struct str){0};
	sel.matchers = matchers;
	sel.matcher_count = 1;
	sel.from_ns = 0;
	sel.until_ns = INT64_MAX / 2;
	if (only >= 0) {
		matchers[1] = (struct matcher){STR("n"), MATCH_EQUAL, str_of(number), NULL};
		sel.matcher_count = 2;
	}
	done = store_delete(s, TEST_TENANT, &sel, NULL, &removed) == ERR_OK;
	for (int i = 0; i < m->n; i++) {
		if (strcmp(m->profile[i].service, service) != 0 || (only >= 0 && only != i) ||
		    m->fate[i] == GONE)
			continue;
		m->fate[i] = done ? GONE : OPEN;
		m->pair[i] = -1;
	}
}

static void settle(struct model *m, struct store *s, bool all)
{
	bool done = store_settle(s, all, NULL) == ERR_OK;

	let_old_go(m, done);
}

static void back_up(struct model *m, struct store *s, const char *path)
{
	char to[300];
	struct fault fault = {0};
	struct store *copy;
	struct model then = *m;

	snprintf(to, sizeof(to), "%s.copy", path);
	nftw(to, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (store_backup(s, to, NULL, &fault) != ERR_OK) {
		/* An unfinished backup is no store. */
		struct store_options o = store_options_default;

		o.directory = to;
		if (access(to, F_OK) == 0 && store_open(&o, &copy, &fault) == ERR_OK) {
			CHECK(!fixture_total(copy, &(struct selection){.type = STR(TEST_TYPE),
								       .until_ns = INT64_MAX / 2}));
			store_close(copy);
		}
		return;
	}
	if (fault_vfs_power_is_off())
		return;
	CHECK_OK(open_at(to, &copy, &fault));
	CHECK(compare(&then, copy, "backup"));
	store_close(copy);
}

static void operate(struct model *m, struct store *s, const char *path, int what)
{
	switch (what) {
	case 0:
	case 1:
	case 2:
		upload(m, s);
		break;
	case 3:
		delete_some(m, s);
		break;
	case 4:
		settle(m, s, true);
		break;
	case 5:
		settle(m, s, false);
		break;
	case 6:
		/* Advances the clock by half an hour or a day. */
		now += (chance(3) ? 1800 : 86400) * NS_PER_S;
		let_old_go(m, false);
		settle(m, s, chance(2));
		break;
	default:
		back_up(m, s, path);
	}
}

static void print_problem(void *context, const char *problem)
{
	++*(int *)context;
	printf("# %s\n", problem);
}

static bool is_whole(const char *path)
{
	struct store_checked checked;
	int problems = 0;

	return store_check(path, print_problem, &problems, &checked, NULL) == ERR_OK && !problems;
}

/* Ways to end the process. */
enum ending { CLOSED, KILLED, CUT };

static void end(struct store **s, enum ending how)
{
	if (how != CLOSED)
		fault_vfs_cut_power(0);
	store_close(*s);
	*s = NULL;
	if (how == KILLED)
		fault_vfs_revive();
	else if (how == CUT)
		fault_vfs_restore(chance(UINT32_MAX));
	else
		fault_vfs_revive();
}

/* ------------------------------------------------------------------ the tests */

static long setting(const char *name, long fallback)
{
	const char *text = getenv(name);

	return text ? atol(text) : fallback;
}

/* Runs several processes in sequence, each ended at a random point. */
static bool one_order(const char *path, uint64_t seed, int lives, int operations)
{
	static struct model m;
	struct fault fault = {0};
	bool good = true;

	m = (struct model){0};
	chance_state = seed * 2654435761u + 1;
	now = TEST_TIME;
	for (int life = 0; good && life < lives; life++) {
		enum ending how = (enum ending)chance(3);
		int n = 1 + (int)chance((uint32_t)operations);
		struct store *s;
		char when[60];

		snprintf(when, sizeof(when), "order %llu, life %d", (unsigned long long)seed, life);
		if (open_at(path, &s, &fault) != ERR_OK) {
			printf("# %s: does not open: %s\n", when, fault.text);
			return false;
		}
		good = compare(&m, s, when);
		fault_vfs_record();
		if (how != CLOSED)
			fault_vfs_cut_power(chance(4) ? chance(120) : 100000);
		for (int i = 0; i < n && !fault_vfs_power_is_off(); i++)
			operate(&m, s, path, (int)chance(8));
		end(&s, how);
		if (good && chance(4) == 0 && !is_whole(path)) {
			printf("# %s: not whole\n", when);
			good = false;
		}
	}
	if (good) {
		struct store *s;

		good = open_at(path, &s, &fault) == ERR_OK && compare(&m, s, "at the end");
		store_close(s);
		good &= is_whole(path);
	}
	return good;
}

TEST(what_is_deleted_stays_deleted_and_nothing_else_goes)
{
	long n = setting("STORE_ORDERS", 40), seed = setting("STORE_SEED", 1), bad = 0;

	fault_vfs_install();
	for (long i = 0; i < n && bad < 20; i++) {
		struct scratch dir;
		char data[300];

		scratch_make_fast(&dir);
		snprintf(data, sizeof(data), "%s/data", dir.path);
		if (!one_order(data, (uint64_t)(seed + i), 4, 8)) {
			printf("# STORE_SEED=%ld\n", seed + i);
			bad++;
		}
		scratch_remove(&dir);
	}
	printf("# %ld orders\n", n);
	CHECK_INT(bad, 0);
}

/* Fills the store, then interrupts one operation. */
static bool one_cut(const char *path, uint64_t seed, int what)
{
	static struct model m;
	struct fault fault = {0};
	enum ending how = seed % 4 ? CUT : KILLED;
	struct store *s;
	char when[60];
	bool good;

	snprintf(when, sizeof(when), "cut %llu in operation %d", (unsigned long long)seed, what);
	m = (struct model){0};
	chance_state = seed * 2654435761u + 77;
	now = TEST_TIME;
	if (open_at(path, &s, &fault) != ERR_OK)
		return false;
	for (int i = 0; i < 6; i++)
		upload(&m, s);
	if (what != 5)
		settle(&m, s, true);
	for (int i = 0; i < 4; i++)
		upload(&m, s);
	fault_vfs_record();
	fault_vfs_cut_power(chance(what == 4 ? 60 : 40));
	operate(&m, s, path, what);
	end(&s, how);
	if (open_at(path, &s, &fault) != ERR_OK) {
		printf("# %s: does not open: %s\n", when, fault.text);
		return false;
	}
	good = compare(&m, s, when);
	settle(&m, s, true);
	good &= compare(&m, s, when);
	store_close(s);
	return is_whole(path) && good;
}

TEST(a_cut_at_any_write_of_any_operation_loses_nothing)
{
	/* Uploads, deletes with rewriting, compaction and roll-ups, change of day, backups. */
	static const int operations[] = {0, 3, 4, 5, 6, 7};
	long n = setting("STORE_CUTS", 60), seed = setting("STORE_SEED", 1), bad = 0;

	fault_vfs_install();
	for (long i = 0; i < n && bad < 20; i++) {
		struct scratch dir;
		char data[300];

		scratch_make_fast(&dir);
		snprintf(data, sizeof(data), "%s/data", dir.path);
		if (!one_cut(data, (uint64_t)(seed + i), operations[(seed + i) % 6])) {
			printf("# STORE_SEED=%ld\n", seed + i);
			bad++;
		}
		scratch_remove(&dir);
	}
	printf("# %ld cuts\n", n);
	CHECK_INT(bad, 0);
}

/* ------------------------------------------------------------------ the index of series */

static enum err add_total(void *context, struct str service, const struct series_answer *answers)
{
	int64_t *total = context;

	(void)service;
	for (size_t i = 0; i < answers->n; i++)
		for (size_t k = 0; k < answers->series[i].n; k++)
			if (answers->series[i].points[k].value ==
			    answers->series[i].points[k].value)
				*total += (int64_t)answers->series[i].points[k].value;
	return ERR_OK;
}

/* Lists and the overview, which read the index, must match the profiles. */
static bool index_agrees(const struct model *m, struct store *s, const char *when)
{
	struct selection all = fixture_all();
	struct services_question question = {
		.ranges = {{all.from_ns, all.until_ns}},
		.range_count = 1,
		.step_ns = all.until_ns - all.from_ns,
	};
	struct services_answer overview = {0};
	struct text_answer values = {0};
	struct ask ask = {0};
	int64_t total = 0, there = 0;
	bool good = true;

	for (int i = 0; i < m->n; i++)
		there += m->fate[i] == THERE;
	if (store_label_values(s, TEST_TENANT, STR("n"), &all, 0, &ask, &values) != ERR_OK ||
	    store_services(s, TEST_TENANT, &all, &question, &ask, add_total, &total, &overview) !=
		    ERR_OK) {
		printf("# %s: lists or overview failed\n", when);
		good = false;
	} else if ((int64_t)values.n != there || total != there * WHOLE) {
		printf("# %s: %zu series are listed and the overview has %lld, of %lld profiles\n",
		       when, values.n, (long long)total, (long long)there);
		good = false;
	}
	arena_release(&values.arena);
	arena_release(&overview.arena);
	return good;
}

/* Uploads two profiles of new series, of an existing service and of a new one. */
static void upload_new(struct model *m, struct store *s)
{
	static const char *const services[] = {"shop", "fresh"};
	int first = m->n;
	bool stored;

	for (int i = 0; i < 2; i++) {
		m->profile[m->n] = (struct test_profile){
			.service = services[i],
			.n = m->n,
			.time_ns = now - (i + 1) * 60 * NS_PER_S,
			.value = WHOLE,
			.function = i ? "fresh" : "parse",
		};
		m->pair[m->n] = -1;
		m->fate[m->n++] = OPEN;
	}
	stored = fixture_write(s, &m->profile[first], 2, NULL) == ERR_OK;
	for (int i = first; i < first + 2; i++) {
		m->fate[i] = stored ? THERE : OPEN;
		m->pair[i] = stored ? -1 : i == first ? first + 1 : first;
	}
}

/* Interrupts an upload after `after` writes and syncs; *ret_reached is false if it needed fewer. */
static bool cut_of_upload(const char *path, long after, enum ending how, bool *ret_reached)
{
	static struct model m;
	struct fault fault = {0};
	struct store *s;
	char when[60];
	bool good;

	snprintf(when, sizeof(when), "%s after %ld writes", how == CUT ? "cut" : "kill", after);
	m = (struct model){0};
	chance_state = (uint64_t)after * 2654435761u + how;
	now = TEST_TIME;
	if (open_at(path, &s, &fault) != ERR_OK)
		return false;
	upload_new(&m, s);
	upload_new(&m, s);
	settle(&m, s, true);
	upload_new(&m, s);
	fault_vfs_record();
	fault_vfs_cut_power(after);
	upload_new(&m, s);
	*ret_reached = fault_vfs_power_is_off();
	end(&s, how);
	if (open_at(path, &s, &fault) != ERR_OK) {
		printf("# %s: does not open: %s\n", when, fault.text);
		return false;
	}
	good = compare(&m, s, when) && index_agrees(&m, s, when);
	upload_new(&m, s);
	settle(&m, s, true);
	good = compare(&m, s, when) && index_agrees(&m, s, when) && good;
	store_close(s);
	return is_whole(path) && good;
}

TEST(an_upload_ended_at_every_write_leaves_an_index_that_agrees)
{
	static const enum ending endings[] = {KILLED, CUT};

	fault_vfs_install();
	for (size_t e = 0; e < 2; e++) {
		bool reached = true;
		long after = 0;

		for (; reached; after++) {
			struct scratch dir;
			char data[300];

			scratch_make_fast(&dir);
			snprintf(data, sizeof(data), "%s/data", dir.path);
			CHECK(cut_of_upload(data, after, endings[e], &reached));
			scratch_remove(&dir);
		}
		CHECK(after > 5);
		printf("# %ld %s\n", after, endings[e] == CUT ? "cuts" : "kills");
	}
}

/* ------------------------------------------------------------------ migration */

static enum err copy_old(const char *to)
{
	static const char *const names[] = {"STORE", "anonymous/catalog.db",
					    "anonymous/2026-01-30.db", "anonymous/2026-01-31.db",
					    "anonymous/2026-02-01.db"};
	char from[400], path[400];

	snprintf(path, sizeof(path), "%s/anonymous", to);
	if (mkdir(to, 0700) || mkdir(path, 0700))
		return ERR_IO;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP(buf_release) struct buf bytes = BUF_INIT(16 << 20);

		snprintf(from, sizeof(from), "%s/%s", OLD_STORE, names[i]);
		snprintf(path, sizeof(path), "%s/%s", to, names[i]);
		TRY(file_read(from, &bytes, NULL));
		TRY(file_write(path, buf_view(&bytes), OUTPUT_NO_SYNC, NULL));
	}
	return ERR_OK;
}

static bool old_is_whole(struct store *s, const char *when)
{
	int64_t sums[2] = {0}, wanted[2] = {0};

	for (int i = 0; i < OLD_PROFILES; i++)
		wanted[i % 2] += old_profile(i).value;
	if (fixture_sums(s, sums, 2) == ERR_OK && sums[0] == wanted[0] && sums[1] == wanted[1])
		return true;
	printf("# %s: %lld and %lld, not %lld and %lld\n", when, (long long)sums[0],
	       (long long)sums[1], (long long)wanted[0], (long long)wanted[1]);
	return false;
}

TEST(a_cut_while_an_old_directory_is_brought_up_to_date_loses_nothing)
{
	long n = setting("STORE_CUTS", 60) / 6, seed = setting("STORE_SEED", 1), bad = 0;

	fault_vfs_install();
	for (long i = 0; i < n && bad < 20; i++) {
		struct scratch dir;
		struct fault fault = {0};
		struct store *s = NULL;
		char data[300], when[60];
		bool good;

		chance_state = (uint64_t)(seed + i) * 2654435761u + 99;
		now = TEST_TIME + 2 * NS_PER_DAY;
		snprintf(when, sizeof(when), "migration %ld", seed + i);
		scratch_make_fast(&dir);
		snprintf(data, sizeof(data), "%s/data", dir.path);
		CHECK_OK(copy_old(data));
		fault_vfs_record();
		fault_vfs_cut_power(chance(300));
		if (open_at(data, &s, &fault) == ERR_OK) {
			(void)!store_settle(s, true, NULL);
			end(&s, i % 3 ? CUT : KILLED);
		} else {
			fault_vfs_revive();
		}
		good = open_at(data, &s, &fault) == ERR_OK && old_is_whole(s, when);
		if (good) {
			good = store_settle(s, true, &fault) == ERR_OK && old_is_whole(s, when);
			store_close(s);
		}
		good = good && is_whole(data);
		if (!good)
			printf("# STORE_SEED=%ld %s\n", seed + i, fault.text);
		bad += !good;
		scratch_remove(&dir);
	}
	CHECK_INT(bad, 0);
}
