/* What a damaged row of a small day means for queries, later uploads and the check. */
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "test.h"

#include "store/partition.h"
#include "store/scratch.h"
#include "store/store_fixture.h"

#define BEGIN (TEST_TIME / NS_PER_DAY * NS_PER_DAY)

static int64_t test_now(void)
{
	return TEST_TIME + NS_PER_S;
}

struct place {
	struct scratch dir;
	char data[300], day[400];
};

static void open_place(const struct place *p, struct store **ret)
{
	struct store_options o = store_options_default;

	o.directory = p->data;
	o.now_ns = test_now;
	o.retention_ns = 0;
	CHECK_OK(store_open(&o, ret, NULL));
}

static void write_one(struct store *s, const char *service, int64_t time_ns)
{
	struct test_profile profile = {.service = service, .time_ns = time_ns, .value = 7};

	CHECK_OK(fixture_write(s, &profile, 1, NULL));
}

/* Two services, each with a chunk that no compaction is due for. */
static void make_place(struct place *p)
{
	struct store *s = NULL;

	scratch_make_fast(&p->dir);
	snprintf(p->data, sizeof(p->data), "%s/data", p->dir.path);
	snprintf(p->day, sizeof(p->day), "%s/anonymous/2026-01-31.db", p->data);
	open_place(p, &s);
	write_one(s, "shop", TEST_TIME);
	write_one(s, "cart", TEST_TIME);
	store_close(s);
}

static void run_sql(const struct place *p, const char *sql)
{
	sqlite3 *db = NULL;

	CHECK_INT(sqlite3_open(p->day, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_changes(db), 1);
	sqlite3_close(db);
}

static enum err ask_service(struct store *s, const char *service)
{
	struct matcher m = {STR("service_name"), MATCH_EQUAL, str_of(service), NULL};
	struct selection sel = {.type = STR(TEST_TYPE),
				.matchers = &m,
				.matcher_count = 1,
				.from_ns = BEGIN,
				.until_ns = BEGIN + NS_PER_DAY};
	struct ask ask = {0};
	struct profile p;
	struct dict d;
	enum err error = dict_init(&d, store_seed(s));

	TRY(error);
	profile_init(&p, &d);
	error = store_merge(s, TEST_TENANT, &sel, NULL, 0, &ask, &p);
	if (error == ERR_OK && (!p.type_count || profile_total(&p, 0) != 7))
		error = ERR_INTERNAL; /* a wrong answer */
	profile_release(&p);
	dict_release(&d);
	return error;
}

static void count_problem(void *context, const char *problem)
{
	(void)problem;
	++*(int *)context;
}

static int problems_of(const struct place *p)
{
	struct store_checked checked;
	struct fault fault = {0};
	int problems = 0;

	if (store_check(p->data, count_problem, &problems, &checked, &fault) != ERR_OK)
		test_fail(__FILE__, __LINE__, "the check fails: %s", fault.text);
	return problems;
}

/* Compaction rewrites the row of a service: with a good seal the damage would be hidden. */
TEST(compaction_does_not_seal_what_was_altered)
{
	struct place p;
	struct store *s = NULL;

	make_place(&p);
	CHECK_INT(problems_of(&p), 0);
	run_sql(&p, "UPDATE services SET series = 5 WHERE name = CAST('shop' AS BLOB)");
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_OK(store_settle(s, true, NULL));
	store_close(s);
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_ERR(ask_service(s, "shop"), ERR_DAMAGED);
	store_close(s);
	scratch_remove(&p.dir);
}

TEST(altered_content_of_a_chunk_fails_queries_that_need_it)
{
	struct place p;
	struct store *s = NULL;

	make_place(&p);
	run_sql(&p, "UPDATE chunks SET data = CAST(substr(data, 1, length(data) - 1) || x'5a'"
		    " AS BLOB) WHERE service = 1");
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_ERR(ask_service(s, "shop"), ERR_DAMAGED);
	CHECK_OK(ask_service(s, "cart"));
	store_close(s);
	scratch_remove(&p.dir);
}

/* `expected`: of the other service of the day. */
static void check_altered_chunk(const char *sql, enum err expected)
{
	struct place p;
	struct store *s = NULL;

	make_place(&p);
	run_sql(&p, sql);
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_ERR(ask_service(s, "shop"), ERR_DAMAGED);
	CHECK_ERR(ask_service(s, "cart"), expected);
	/* Uploads do not make it look good. */
	write_one(s, "cart", TEST_TIME + NS_PER_S);
	CHECK_OK(store_settle(s, true, NULL));
	store_close(s);
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_ERR(ask_service(s, "shop"), ERR_DAMAGED);
	store_close(s);
	scratch_remove(&p.dir);
}

TEST(an_altered_chunk_fails_queries_of_its_service_only)
{
	check_altered_chunk("UPDATE chunks SET service = 2 WHERE service = 1", ERR_OK);
	check_altered_chunk("UPDATE chunks SET service = 77 WHERE service = 1", ERR_OK);
	check_altered_chunk("UPDATE chunks SET rows = rows + 1 WHERE service = 1", ERR_OK);
	check_altered_chunk("UPDATE chunks SET seal = seal + 1 WHERE service = 1", ERR_OK);
	check_altered_chunk("UPDATE chunks SET data = CAST(substr(data, 1, 3) || x'5a5a5a' ||"
			    " substr(data, 7) AS BLOB) WHERE service = 1",
			    ERR_OK);
}

/* Nobody knows what it was. */
TEST(a_chunk_with_several_altered_columns_fails_queries_of_the_day)
{
	check_altered_chunk("UPDATE chunks SET service = 2, rows = rows + 1 WHERE service = 1",
			    ERR_DAMAGED);
	check_altered_chunk("UPDATE chunks SET seal = seal + 1, rows = rows + 1 WHERE service = 1",
			    ERR_DAMAGED);
	check_altered_chunk("UPDATE chunks SET id = id + (1 << 24) WHERE service = 1", ERR_DAMAGED);
}

/* SQLite calls a schema format that it does not know a wrong statement. */
TEST(check_reports_an_unknown_schema_format)
{
	const uint8_t format = 20;
	struct place p;
	struct store *s = NULL;
	int fd;

	make_place(&p);
	fd = open(p.day, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, &format, 1, 47) == 1);
	close(fd);
	CHECK(problems_of(&p) > 0);
	open_place(&p, &s);
	CHECK_ERR(ask_service(s, "shop"), ERR_DAMAGED);
	store_close(s);
	scratch_remove(&p.dir);
}
