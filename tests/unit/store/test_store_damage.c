/*
 * Damage is never silent. The test damages a directory in one way after the other: bits, pages,
 * files, rows, logs. Each time every query must return the right result or an error that says
 * "damaged", `vestal check` must report whatever made a query fail, and after --repair the
 * remaining data must be readable and the check must find nothing.
 *
 * STORE_DAMAGES sets the number of rounds, STORE_SEED the random seed.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "test.h"

#include "store/folder_copy.h"
#include "store/partition.h"
#include "store/scratch.h"
#include "store/store_fixture.h"

#define HOUR	 (3600 * NS_PER_S)
#define BEGIN	 (TEST_TIME / NS_PER_DAY * NS_PER_DAY)
#define SERIES	 4
#define PROFILES 90
#define OTHER	 STR("other")

static _Atomic(int64_t) now = BEGIN + 3 * NS_PER_DAY;

static int64_t test_now(void)
{
	return now;
}

static enum err open_at(const char *path, struct store **ret, struct fault *fault)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	o.retention_ns = 0;
	o.span_retention_ns = 0;
	return store_open(&o, ret, fault);
}

/* ------------------------------------------------------------------ the directory */

static struct test_profile profile(int i, bool late)
{
	static const char *const services[] = {"shop", "cart", "pay"};
	static const char *const functions[] = {"parse", "render", "gc", "copy", "hash"};

	return (struct test_profile){
		.service = services[i % 3],
		.n = i % SERIES,
		.time_ns = BEGIN + (i % 2 ? NS_PER_DAY : 0) + (i / 2) * 1170 * NS_PER_S +
			   (late ? 11 * NS_PER_S : 0),
		.value = 1000 + i * 17,
		.function = functions[i % 5],
		.span = (uint8_t)(i % 7 == 0),
	};
}

static void write_batch(struct store *s, struct str tenant, const struct test_profile *v, size_t n,
			bool spans)
{
	struct store_batch *b;

	CHECK_OK(store_batch_new(s, tenant, &b, NULL));
	for (size_t i = 0; i < n; i++)
		CHECK_OK(fixture_add(s, b, &v[i], NULL));
	for (size_t i = 0; spans && i < n; i++) {
		struct label_pair attribute = {STR("route"), STR("/cart")};
		struct trace_span span = {.service = str_of(v[i].service),
					  .operation = str_of(v[i].function),
					  .start_ns = v[i].time_ns,
					  .duration_ns = v[i].value,
					  .attributes = &attribute,
					  .attribute_count = 1};

		memset(span.trace_id, 1 + (int)i, sizeof(span.trace_id));
		memset(span.span_id, 1 + (int)i, sizeof(span.span_id));
		CHECK_OK(store_batch_span(b, &span, NULL));
	}
	CHECK_OK(commit_and_wait(b, NULL));
}

static void fill(struct store *s)
{
	for (int i = 0; i < PROFILES; i++) {
		struct test_profile t = profile(i, false);

		write_batch(s, TEST_TENANT, &t, 1, i % 9 == 0);
		if (i % 3 == 0)
			write_batch(s, OTHER, &t, 1, false);
	}
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("theme"), STR("dark")));
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("filter"), STR("{service=\"shop\"}")));
}

/* Adds chunks that are not compacted; if the store is not closed they are in the WAL only. */
static void fill_late(struct store *s)
{
	for (int i = 0; i < PROFILES; i += 4) {
		struct test_profile t = profile(i, true);

		write_batch(s, TEST_TENANT, &t, 1, i % 16 == 0);
	}
}

/* ------------------------------------------------------------------ what it answers */

#define OF_TENANT 13
#define ANSWERS	  (2 * OF_TENANT + 3)

struct answers {
	int64_t v[ANSWERS];
	bool damaged[ANSWERS], failed[ANSWERS];
	char text[ANSWERS][500];
};

static void note(struct answers *a, int i, enum err error, const struct fault *fault,
		 const int64_t *v)
{
	a->v[i] = *v;
	a->damaged[i] = error == ERR_DAMAGED;
	a->failed[i] = error != ERR_OK && error != ERR_DAMAGED;
	snprintf(a->text[i], sizeof(a->text[i]), "%s: %s", err_text(error), fault->text);
}

static int64_t mix(int64_t sum, int64_t v)
{
	return (int64_t)hash_mix((uint64_t)sum, (uint64_t)v);
}

/* A hash of all points of all series. */
static enum err ask_series(struct store *s, struct str tenant, struct selection *sel, int64_t step,
			   struct ask *ask, int64_t *ret)
{
	static const struct str by[] = {{"n", 1}, {"service_name", 12}};
	struct series_question question = {.group_by = by, .group_count = 2, .step_ns = step};
	struct series_answer answer = {0};
	enum err error = store_series(s, tenant, sel, &question, ask, &answer);

	*ret = 1;
	for (size_t i = 0; error == ERR_OK && i < answer.n; i++) {
		const struct series_points *one = &answer.series[i];

		for (size_t k = 0; k < one->label_count; k++)
			*ret = mix(*ret, (int64_t)hash_str(one->labels[k].value, 7));
		for (size_t k = 0; k < one->n; k++)
			if (one->points[k].value == one->points[k].value)
				*ret = mix(*ret, (int64_t)one->points[k].value);
	}
	arena_release(&answer.arena);
	return error;
}

/* A hash of all stacks with their values. */
static enum err ask_merge(struct store *s, struct str tenant, struct selection *sel,
			  struct ask *ask, int64_t *ret)
{
	struct profile p;
	struct dict d;
	enum err error = dict_init(&d, store_seed(s));

	TRY(error);
	profile_init(&p, &d);
	error = store_merge(s, tenant, sel, NULL, 0, ask, &p);
	*ret = 0;
	for (size_t i = 0; error == ERR_OK && p.type_count && i < p.row_count; i++) {
		uint32_t n;
		const uint32_t *frames = stack_frames(&d, p.stack[i], &n);
		uint64_t name = 1;

		for (uint32_t f = 0; f < n; f++)
			name = hash_mix(
				name,
				hash_str(dict_str(&d, d.functions.v[d.frames.v[frames[f]].function]
							      .name),
					 3));
		/* Independent of the order. */
		*ret += (int64_t)(name % 1000003) * p.values[i];
	}
	profile_release(&p);
	dict_release(&d);
	return error;
}

/* Lists, which are read from the series index. */
static enum err ask_names(struct store *s, struct str tenant, int which, struct selection *sel,
			  struct ask *ask, int64_t *ret)
{
	struct text_answer names = {0};
	enum err error;

	if (which == 0)
		error = store_label_values(s, tenant, STR("service_name"), sel, 0, ask, &names);
	else if (which == 1)
		error = store_label_values(s, tenant, STR("n"), sel, 0, ask, &names);
	else if (which == 2)
		error = store_label_names(s, tenant, sel, ask, &names);
	else
		error = store_types(s, tenant, sel, ask, &names);
	*ret = 1;
	for (size_t i = 0; error == ERR_OK && i < names.n; i++)
		*ret = mix(*ret, (int64_t)hash_str(names.v[i], 5));
	if (error == ERR_OK)
		arena_release(&names.arena);
	return error;
}

static enum err add_service(void *context, struct str service, const struct series_answer *answers)
{
	int64_t *sum = context;

	*sum = mix(*sum, (int64_t)hash_str(service, 11));
	for (size_t i = 0; i < answers->n; i++)
		for (size_t k = 0; k < answers->series[i].n; k++)
			if (answers->series[i].points[k].value ==
			    answers->series[i].points[k].value)
				*sum = mix(*sum, (int64_t)answers->series[i].points[k].value);
	return ERR_OK;
}

/* Like the overview, without dictionaries. */
static enum err ask_services(struct store *s, struct str tenant, struct selection *sel,
			     struct ask *ask, int64_t *ret)
{
	struct services_question question = {
		.ranges = {{BEGIN, BEGIN + 2 * NS_PER_DAY}},
		.range_count = 1,
		.step_ns = 2 * NS_PER_DAY,
	};
	struct services_answer answer = {0};
	enum err error;

	*ret = 1;
	error = store_services(s, tenant, sel, &question, ask, add_service, ret, &answer);
	if (error == ERR_OK)
		arena_release(&answer.arena);
	return error;
}

static void ask_tenant(struct store *s, struct str tenant, struct answers *a, int at)
{
	const int64_t edges[][2] = {
		{0, 48 * HOUR},		{5 * HOUR, 9 * HOUR},
		{24 * HOUR, 48 * HOUR}, {3 * HOUR + 600 * NS_PER_S, 30 * HOUR + 77 * NS_PER_S},
		{20 * HOUR, 21 * HOUR}, {26 * HOUR, 27 * HOUR}};
	struct fault fault;
	int64_t v = 0;

	for (int i = 0; i < 6; i++) {
		struct selection sel = fixture_all();
		struct ask ask = {.fault = &fault};

		fault = (struct fault){0};
		sel.from_ns = BEGIN + edges[i][0];
		sel.until_ns = BEGIN + edges[i][1];
		note(a, at + i, ask_merge(s, tenant, &sel, &ask, &v), &fault, &v);
	}
	for (int i = 0; i < 2; i++) {
		struct selection sel = fixture_all();
		struct ask ask = {.fault = &fault};

		fault = (struct fault){0};
		sel.from_ns = BEGIN;
		sel.until_ns = BEGIN + 2 * NS_PER_DAY;
		note(a, at + 6 + i,
		     ask_series(s, tenant, &sel, i ? HOUR : 120 * NS_PER_S, &ask, &v), &fault, &v);
	}
	for (int i = 0; i < 4; i++) {
		struct selection sel = fixture_all();
		struct ask ask = {.fault = &fault};

		fault = (struct fault){0};
		note(a, at + 8 + i, ask_names(s, tenant, i, &sel, &ask, &v), &fault, &v);
	}
	{
		struct selection sel = fixture_all();
		struct ask ask = {.fault = &fault};

		fault = (struct fault){0};
		note(a, at + 12, ask_services(s, tenant, &sel, &ask, &v), &fault, &v);
	}
}

static enum err ask_spans(struct store *s, const struct span_question *q, struct fault *fault,
			  int64_t *ret)
{
	struct ask ask = {.fault = fault};
	struct span_answer spans = {0};
	enum err error = store_spans(s, TEST_TENANT, q, &ask, &spans);

	*ret = 1;
	for (size_t i = 0; error == ERR_OK && i < spans.n; i++) {
		*ret = mix(*ret, spans.v[i].start_ns + spans.v[i].duration_ns);
		*ret = mix(*ret, (int64_t)hash_str(spans.v[i].operation, 1));
	}
	if (error == ERR_OK)
		arena_release(&spans.arena);
	return error;
}

static void ask_all(struct store *s, struct answers *a)
{
	struct span_question all = {.from_ns = BEGIN, .until_ns = BEGIN + 3 * NS_PER_DAY};
	struct span_question shop = all;
	struct setting_answer settings = {0};
	struct fault fault = {0};
	int64_t v = 0;
	enum err error;

	memset(a, 0, sizeof(*a));
	ask_tenant(s, TEST_TENANT, a, 0);
	ask_tenant(s, OTHER, a, OF_TENANT);
	note(a, 2 * OF_TENANT, ask_spans(s, &all, &fault, &v), &fault, &v);
	shop.service = STR("shop");
	fault = (struct fault){0};
	note(a, 2 * OF_TENANT + 1, ask_spans(s, &shop, &fault, &v), &fault, &v);
	fault = (struct fault){0};
	error = store_settings(s, TEST_TENANT, &settings);
	v = 1;
	for (size_t i = 0; error == ERR_OK && i < settings.n; i++)
		v = mix(mix(v, (int64_t)hash_str(settings.v[i].name, 1)),
			(int64_t)hash_str(settings.v[i].value, 1));
	note(a, 2 * OF_TENANT + 2, error, &fault, &v);
	if (error == ERR_OK)
		arena_release(&settings.arena);
}

/* ------------------------------------------------------------------ ways to damage */

static uint64_t chance_state;

static uint32_t chance(uint32_t n)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return n ? (uint32_t)((chance_state >> 33) % n) : 0;
}

struct damage {
	const char *folder, *older; /* the copy, and an older copy without the last writes */
	struct files files;
	char what[500];
};

static const char *full(const struct damage *d, const char *name)
{
	static char path[4][600];
	static int at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "%s/%s", d->folder, name);
	return path[at];
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Picks a file whose name ends in `end`. */
static const char *pick(struct damage *d, const char *end)
{
	const char *found[MAX_FILES];
	size_t n = 0;

	for (size_t i = 0; i < d->files.n; i++) {
		const char *name = d->files.name[i];

		if (strlen(name) >= strlen(end) &&
		    strcmp(name + strlen(name) - strlen(end), end) == 0 &&
		    strncmp(name, "STORE", 5) != 0 && size_of(full(d, name)) > 0)
			found[n++] = name;
	}
	return n ? found[chance((uint32_t)n)] : NULL;
}

static void overwrite(const char *path, off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n);
	close(fd);
}

static void flip_bit(struct damage *d, const char *name)
{
	off_t at = chance((uint32_t)size_of(full(d, name)));
	uint8_t byte;
	int fd = open(full(d, name), O_RDWR);

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= (uint8_t)(1u << chance(8));
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
	snprintf(d->what, sizeof(d->what), "a bit of byte %lld of %s", (long long)at, name);
}

static void zero_page(struct damage *d, const char *name)
{
	static const uint8_t zero[16384];
	off_t size = size_of(full(d, name)), page = size < 16384 ? size : 16384;
	off_t at = page ? chance((uint32_t)(size / page)) * page : 0;

	overwrite(full(d, name), at, zero, (size_t)page);
	snprintf(d->what, sizeof(d->what), "zeros at %lld of %s", (long long)at, name);
}

static void truncate_file(struct damage *d, const char *name)
{
	off_t size = size_of(full(d, name));
	off_t to = chance(2) ? chance((uint32_t)size)
			     : size / 16384 * 16384 - 16384 * (off_t)chance(3);

	if (to < 0)
		to = 0;
	CHECK(truncate(full(d, name), to) == 0);
	snprintf(d->what, sizeof(d->what), "%s cut from %lld to %lld", name, (long long)size,
		 (long long)to);
}

static void swap_pages(struct damage *d, const char *name)
{
	static uint8_t a[16384], b[16384];
	uint32_t pages = (uint32_t)(size_of(full(d, name)) / 16384);
	uint32_t x = chance(pages), y = chance(pages);
	int fd = open(full(d, name), O_RDWR);

	CHECK(fd >= 0);
	if (pages > 1) {
		CHECK(pread(fd, a, 16384, x * 16384LL) == 16384);
		CHECK(pread(fd, b, 16384, y * 16384LL) == 16384);
		CHECK(pwrite(fd, b, 16384, x * 16384LL) == 16384);
		CHECK(pwrite(fd, a, 16384, y * 16384LL) == 16384);
	}
	close(fd);
	snprintf(d->what, sizeof(d->what), "pages %u and %u of %s swapped", x, y, name);
}

static void damage_bits(struct damage *d)
{
	flip_bit(d, pick(d, ".db"));
}
static void damage_zero(struct damage *d)
{
	zero_page(d, pick(d, ".db"));
}
static void damage_cut(struct damage *d)
{
	truncate_file(d, pick(d, ".db"));
}
static void damage_swap(struct damage *d)
{
	swap_pages(d, pick(d, ".db"));
}

/* Checkpoints the WAL first, so that the statement sees all rows. */
static void run_sql(struct damage *d, const char *name, const char *sql)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	CHECK(sqlite3_open(full(d, name), &db) == SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		snprintf(d->what, sizeof(d->what), "%s: %s: %s", name, sql, message);
	else
		snprintf(d->what, sizeof(d->what), "%s: %s (%d)", name, sql, sqlite3_changes(db));
	sqlite3_free(message);
	sqlite3_close(db);
}

static void damage_rows(struct damage *d)
{
	static const char *const day[] = {
		"DELETE FROM chunks WHERE id = (SELECT id FROM chunks ORDER BY random() LIMIT 1)",
		"DELETE FROM blocks WHERE id = (SELECT id FROM blocks ORDER BY random() LIMIT 1)",
		"DELETE FROM rollups WHERE id = (SELECT id FROM rollups ORDER BY random() LIMIT 1)",
		"DELETE FROM dictionary WHERE id = (SELECT max(id) FROM dictionary)",
		"DELETE FROM services WHERE id = (SELECT id FROM services ORDER BY random() LIMIT "
		"1)",
		"DELETE FROM reaches",
		"DELETE FROM ledger",
		"DELETE FROM chunks",
		"UPDATE blocks SET id = id + 1 WHERE id = (SELECT id FROM blocks ORDER BY random()"
		" LIMIT 1)",
		"UPDATE blocks SET service = 4 - service",
		"UPDATE rollups SET service = 4 - service",
		"UPDATE rollups SET start = start + 3600000",
		"UPDATE chunks SET service = 1 + service % 3",
		"UPDATE chunks SET id = id + (60000 << 20)",
		"UPDATE services SET name = name || 'x' WHERE id = 1",
		"UPDATE services SET name = CASE id WHEN 1 THEN x'00ff' ELSE name END;"
		"UPDATE services SET name = CAST('cart2' AS BLOB) WHERE id = 1",
		"UPDATE blocks SET data = (SELECT data FROM blocks ORDER BY random() LIMIT 1)"
		" WHERE id = (SELECT max(id) FROM blocks)",
		"UPDATE rollups SET data = (SELECT data FROM rollups ORDER BY id LIMIT 1),"
		" seal = (SELECT seal FROM rollups ORDER BY id LIMIT 1)",
		"UPDATE dictionary SET data = (SELECT data FROM dictionary ORDER BY id LIMIT 1)",
		"INSERT INTO blocks SELECT id + 7, service, profiles, rows, first, last, seal, data"
		" FROM blocks LIMIT 1",
		"INSERT INTO chunks SELECT id + 7, service, rows, seal, data FROM chunks LIMIT 1",
		"INSERT INTO reaches VALUES (1, 7, 99999999, 5)",
		"INSERT INTO rollups SELECT NULL, service, 1, start + 3600000, seal, data FROM"
		" rollups LIMIT 1",
		"UPDATE blocks SET first = first + 1",
		"UPDATE blocks SET seal = 0",
		"UPDATE ledger SET commits = commits + 5",
		"UPDATE ledger SET lost = 0, unsealed = 1000; UPDATE chunks SET seal = 0",
		"UPDATE services SET series = 0",
		"DELETE FROM series_index WHERE id = (SELECT max(id) FROM series_index)",
		"DELETE FROM series_index WHERE id > 0",
		"DELETE FROM series_index",
		"UPDATE series_index SET data = (SELECT data FROM series_index ORDER BY random()"
		" LIMIT 1) WHERE id > 0",
		"UPDATE series_index SET data = (SELECT data FROM series_index WHERE id > 0 LIMIT"
		" 1), seal = (SELECT seal FROM series_index WHERE id > 0 LIMIT 1) WHERE id > 0",
		"UPDATE series_index SET id = id + (1 << 32) WHERE id = (SELECT max(id) FROM"
		" series_index)",
		"INSERT INTO series_index SELECT id + 1, seal, data FROM series_index"
		" WHERE id = (SELECT max(id) FROM series_index)",
		"UPDATE series_index SET seal = 0 WHERE id > 0",
		"DROP TABLE series_index",
		"DROP TABLE rollups",
		"DROP INDEX blocks_of_service",
		"DROP TABLE reaches",
		"ALTER TABLE chunks RENAME COLUMN rows TO columns",
		"PRAGMA user_version = 1",
		"PRAGMA user_version = 99",
		"PRAGMA application_id = 7",
		"CREATE TRIGGER t AFTER INSERT ON chunks BEGIN DELETE FROM blocks; END",
	};
	static const char *const spans[] = {
		"DELETE FROM spans WHERE id = (SELECT id FROM spans ORDER BY random() LIMIT 1)",
		"UPDATE spans SET operation = (SELECT max(id) FROM names)",
		"UPDATE names SET text = CAST('nobody' AS BLOB) WHERE id = 1",
		"DELETE FROM names WHERE id = 1",
		"UPDATE spans SET start = start + 1",
		"UPDATE spans SET duration = 2",
		"UPDATE spans SET attributes = x'00'",
		("INSERT INTO spans SELECT id + 1, trace, span, parent, kind, status, service,"
		 " operation, start, duration, attributes, seal FROM spans LIMIT 1"),
		"DELETE FROM ledger",
	};
	static const char *const catalog[] = {
		"DELETE FROM settings WHERE name = CAST('theme' AS BLOB)",
		"UPDATE settings SET value = CAST('light' AS BLOB)",
		("UPDATE settings SET name = CAST('team' AS BLOB) WHERE name = CAST('theme' AS "
		 "BLOB)"),
		"INSERT INTO settings SELECT x'77', value, modified, seal FROM settings LIMIT 1",
		"DELETE FROM files",
		"UPDATE files SET commits = 1",
		"DROP TABLE settings",
	};
	const char *name = pick(d, ".db");
	bool is_spans = strstr(name, ".spans.") != NULL;

	if (strstr(name, "catalog"))
		run_sql(d, name, catalog[chance(sizeof(catalog) / sizeof(*catalog))]);
	else if (is_spans)
		run_sql(d, name, spans[chance(sizeof(spans) / sizeof(*spans))]);
	else
		run_sql(d, name, day[chance(sizeof(day) / sizeof(*day))]);
}

/* Replaces a file by another one, or deletes it, together with its WAL, as a user copying files
 * does. */
static void damage_files(struct damage *d)
{
	const char *a = pick(d, ".db"), *b = pick(d, ".db");
	char x[600], y[600], t[620];
	int how = (int)chance(4);

	snprintf(x, sizeof(x), "%s", full(d, a));
	snprintf(y, sizeof(y), "%s", full(d, b));
	snprintf(t, sizeof(t), "%s.t", x);
	if (how == 0) {
		rename(x, t);
		rename(y, x);
		rename(t, y);
		snprintf(d->what, sizeof(d->what), "%s and %s exchanged", a, b);
	} else if (how == 1) {
		if (strcmp(x, y) != 0)
			copy_file(x, y);
		snprintf(d->what, sizeof(d->what), "%s copied over %s", a, b);
	} else if (how == 2) {
		unlink(x);
		snprintf(d->what, sizeof(d->what), "%s removed", a);
	} else {
		snprintf(y, sizeof(y), "%s/%s", d->older, a);
		if (size_of(y)) {
			copy_file(y, x);
			snprintf(t, sizeof(t), "%s-wal", x);
			unlink(t);
		}
		snprintf(d->what, sizeof(d->what), "%s as it was before", a);
	}
}

static void damage_log(struct damage *d)
{
	static const uint8_t zero[4096];
	const char *name = pick(d, ".db-wal");
	char path[600];
	off_t size;

	if (!name) {
		damage_bits(d);
		return;
	}
	snprintf(path, sizeof(path), "%s", full(d, name));
	size = size_of(path);
	switch (chance(6)) {
	case 0:
		unlink(path);
		snprintf(d->what, sizeof(d->what), "%s removed", name);
		break;
	case 1:
		truncate_file(d, name);
		break;
	case 2:
		overwrite(path, 0, zero, 32);
		snprintf(d->what, sizeof(d->what), "head of %s zeroed", name);
		break;
	case 3: {
		off_t at = chance((uint32_t)size), n = size - at < 4096 ? size - at : 4096;

		overwrite(path, at, zero, (size_t)n);
		snprintf(d->what, sizeof(d->what), "4096 zeros at %lld of %s", (long long)at, name);
		break;
	}
	default:
		flip_bit(d, name);
	}
}

static void damage_journal(struct damage *d)
{
	const char *name = pick(d, "/commits");
	char older[600];

	switch (chance(4)) {
	case 0:
		unlink(full(d, name));
		snprintf(d->what, sizeof(d->what), "%s removed", name);
		break;
	case 1:
		truncate_file(d, name);
		break;
	case 2:
		snprintf(older, sizeof(older), "%s/%s", d->older, name);
		copy_file(older, full(d, name));
		snprintf(d->what, sizeof(d->what), "%s as it was before", name);
		break;
	default:
		flip_bit(d, name);
	}
}

static void (*const ways[])(struct damage *d) = {damage_bits,	damage_zero, damage_cut,
						 damage_swap,	damage_rows, damage_rows,
						 damage_files,	damage_log,  damage_log,
						 damage_journal};

/* ------------------------------------------------------------------ the test */

static void count_problem(void *context, const char *problem)
{
	(void)problem;
	++*(int *)context;
}

static void print_problem(void *context, const char *problem)
{
	++*(int *)context;
	printf("# %s\n", problem);
}

static void ignore_lost(void *context, const struct store_lost *lost)
{
	(void)context, (void)lost;
}

/* Whether a query failed; a wrong result fails the test. */
static bool look(const char *folder, const struct answers *right, const char *what, bool *ret_good)
{
	static struct answers a;
	struct fault fault = {0};
	struct store *s;
	enum err error = open_at(folder, &s, &fault);
	bool any = false;

	*ret_good = true;
	if (error != ERR_OK) {
		printf("# %s: does not open: %s\n", what, fault.text);
		*ret_good = false;
		return true;
	}
	ask_all(s, &a);
	store_close(s);
	for (int i = 0; i < ANSWERS; i++) {
		any |= a.damaged[i] || a.failed[i];
		if (a.damaged[i])
			continue;
		if (a.failed[i] || a.v[i] != right->v[i]) {
			printf("# %s: answer %d: %s\n", what, i,
			       a.failed[i] ? a.text[i] : "wrong, and nobody says so");
			*ret_good = false;
		}
	}
	return any;
}

static int checked(const char *folder, bool print)
{
	struct store_checked result;
	struct fault fault = {0};
	int problems = 0;
	enum err error = store_check(folder, print ? print_problem : count_problem, &problems,
				     &result, &fault);

	if (error != ERR_OK)
		printf("# check: %s\n", fault.text);
	return error == ERR_OK ? problems : -1;
}

static bool repairs(const char *folder, const struct answers *right, const char *what)
{
	static struct answers a;
	struct store_repaired result = {0}, again = {0};
	struct fault fault = {0};
	struct store *s;
	enum err error = store_repair(folder, ignore_lost, NULL, &result, &fault);
	bool good = true;

	(void)right;
	/* An unknown format version: the file may be intact. */
	if (error == ERR_UNSUPPORTED && strstr(fault.text, "use the newer vestal"))
		return true;
	if (error != ERR_OK) {
		printf("# %s: cannot be repaired: %s\n", what, fault.text);
		return false;
	}
	if (checked(folder, true) != 0) {
		printf("# %s: not whole after the repair\n", what);
		return false;
	}
	if (store_repair(folder, ignore_lost, NULL, &again, &fault) != ERR_OK || again.files) {
		printf("# %s: repaired twice\n", what);
		return false;
	}
	if (open_at(folder, &s, &fault) != ERR_OK) {
		printf("# %s: does not open after the repair: %s\n", what, fault.text);
		return false;
	}
	ask_all(s, &a);
	for (int i = 0; i < ANSWERS; i++)
		if (a.damaged[i] || a.failed[i]) {
			printf("# %s: after the repair, answer %d: %s\n", what, i, a.text[i]);
			good = false;
		}
	/* The store still accepts writes. */
	write_batch(s, TEST_TENANT,
		    &(struct test_profile){
			    .service = "shop", .n = 1, .time_ns = BEGIN + HOUR, .value = 5},
		    1, true);
	if (store_settle(s, true, &fault) != ERR_OK) {
		printf("# %s: after the repair: %s\n", what, fault.text);
		good = false;
	}
	store_close(s);
	return checked(folder, true) == 0 && good;
}

static bool one_damage(const struct scratch *dir, const char *base, const char *older,
		       const struct answers *right, bool repair)
{
	char copy[300];
	struct damage d = {.folder = copy, .older = older};
	bool any, good;
	int problems;

	snprintf(copy, sizeof(copy), "%s/copy", dir->path);
	remove_folder(copy);
	copy_folder(base, copy);
	list_files(copy, &d.files);
	ways[chance(sizeof(ways) / sizeof(*ways))](&d);
	/* Check first, before any query, as a user would. */
	problems = checked(copy, false);
	any = look(copy, right, d.what, &good);
	if (problems < 0 || (any && !problems)) {
		printf("# %s: the check does not report it\n", d.what);
		good = false;
	}
	if (repair && good && problems > 0)
		good = repairs(copy, right, d.what);
	return good;
}

static long setting(const char *name, long fallback)
{
	const char *text = getenv(name);

	return text ? atol(text) : fallback;
}

static void sweep(bool killed)
{
	CLEANUP(scratch_remove) struct scratch dir;
	static struct answers right;
	char base[300], older[300], data[300];
	long n = setting("STORE_DAMAGES", 120) / 2, bad = 0, seed = setting("STORE_SEED", 1);
	struct fault fault = {0};
	struct store *s;

	scratch_make_fast(&dir);
	snprintf(data, sizeof(data), "%s/data", dir.path);
	snprintf(base, sizeof(base), "%s/base", dir.path);
	snprintf(older, sizeof(older), "%s/older", dir.path);
	CHECK_OK(open_at(data, &s, &fault));
	fill(s);
	CHECK_OK(store_settle(s, true, NULL));
	copy_folder(data, older);
	fill_late(s);
	ask_all(s, &right);
	if (killed) {
		copy_folder(data, base);
		store_close(s);
	} else {
		CHECK_OK(store_settle(s, true, NULL));
		fill_late(s);
		ask_all(s, &right);
		store_close(s);
		copy_folder(data, base);
	}
	CHECK_INT(checked(base, true), 0);
	for (long i = 0; i < n; i++) {
		bool good;

		chance_state = (uint64_t)(seed + i) * 2654435761u + killed;
		chance(1);
		good = one_damage(&dir, base, older, &right, i % 4 == 0);
		if (!good)
			printf("# STORE_SEED=%ld\n", seed + i);
		bad += !good;
	}
	printf("# %ld damages, %ld silent or wrong\n", n, bad);
	CHECK_INT(bad, 0);
}

TEST(damage_of_closed_files_is_never_silent)
{
	sweep(false);
}

TEST(damage_of_what_a_kill_left_is_never_silent)
{
	sweep(true);
}
