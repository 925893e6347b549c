#include "../model/profile_maker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "server/call_graph.h"
#include "server/keep_path.h"
#include "server/pgo_stacks.h"
#include "server/rates.h"
#include "server/tokens.h"
#include "test.h"

/* ------------------------------------------------------------------ rates */

static void rates_freep(struct rate_limits **r)
{
	rates_free(*r);
}

TEST(a_tenant_that_sends_too_much_waits_and_others_do_not)
{
	CLEANUP(rates_freep) struct rate_limits *r = NULL;
	struct fault fault = {0};

	CHECK_OK(rates_new(10, &r));
	CHECK_OK(rates_take(r, STR("a"), 1000, &fault));
	CHECK_ERR(rates_take(r, STR("a"), 1, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "10 bytes a second"));
	CHECK_OK(rates_take(r, STR("b"), 1, &fault));
}

TEST(a_rate_of_nothing_is_no_limit)
{
	CLEANUP(rates_freep) struct rate_limits *r = NULL;

	CHECK_OK(rates_new(0, &r));
	for (int i = 0; i < 10; i++)
		CHECK_OK(rates_take(r, STR("a"), SIZE_MAX, NULL));
}

TEST(tenants_who_wait_no_longer_make_room_for_others)
{
	CLEANUP(rates_freep) struct rate_limits *r = NULL;
	char name[16];

	CHECK_OK(rates_new(1000000000000, &r));
	for (int i = 0; i < 10100; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		CHECK_OK(rates_take(r, str_of(name), 1, NULL));
	}
}

static enum err use_rates(void)
{
	CLEANUP(rates_freep) struct rate_limits *r = NULL;

	TRY(rates_new(10, &r));
	TRY(rates_take(r, STR("a"), 1, NULL));
	return rates_take(r, STR("b"), 1, NULL);
}

TEST(rates_survive_a_lack_of_memory)
{
	ALLOC_SWEEP(use_rates());
}

TEST(the_password_of_basic_authentication_is_found)
{
	struct arena a;

	arena_init(&a, 1 << 16);
	CHECK_STR(basic_password(&a, STR("dXNlcjp2c3RfMTIz")), "vst_123");
	CHECK_STR(basic_password(&a, STR("OnB3")), "pw");
	CHECK_INT(basic_password(&a, STR("dXNlcg==")).n, 0);
	CHECK_INT(basic_password(&a, STR("%%%")).n, 0);
	CHECK_INT(basic_password(&a, STR("")).n, 0);
	arena_release(&a);
}

/* ------------------------------------------------------------------ tokens */

struct token_files {
	char directory[64], path[80], audit[80];
};

static void files_remove(struct token_files *f)
{
	unlink(f->path);
	unlink(f->audit);
	rmdir(f->directory);
}

static bool files_make(struct token_files *f)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(f->directory, sizeof(f->directory), "%s/tokens-XXXXXX", tmp ? tmp : "/tmp") >=
	    (int)sizeof(f->directory))
		snprintf(f->directory, sizeof(f->directory), "/tmp/tokens-XXXXXX");
	if (!mkdtemp(f->directory))
		return false;
	snprintf(f->path, sizeof(f->path), "%s/tokens", f->directory);
	snprintf(f->audit, sizeof(f->audit), "%s/audit.log", f->directory);
	return true;
}

#define FILES(name_)                                                      \
	CLEANUP(files_remove) struct token_files name_ = {{0}, {0}, {0}}; \
	CHECK(files_make(&(name_)))

static void tokens_closep(struct tokens **t)
{
	tokens_close(*t);
}

TEST(a_token_opens_what_it_was_made_for_until_it_is_revoked)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(200);
	CLEANUP(tokens_closep) struct tokens *t = NULL, *again = NULL;
	struct token_info info;
	FILES(f);

	CHECK_OK(token_create(f.path, STR("one"), TOKEN_READ | TOKEN_WRITE, STR("a name"), &token,
			      NULL));
	CHECK(str_starts(buf_view(&token), STR("vst_")));
	CHECK_OK(tokens_open(f.path, false, &t, NULL));
	CHECK_OK(tokens_check(t, buf_view(&token), &info));
	CHECK_STR(str_of(info.tenant), "one");
	CHECK_STR(str_of(info.name), "a name");
	CHECK_INT(info.rights, TOKEN_READ | TOKEN_WRITE);
	CHECK_ERR(tokens_check(t, STR("vst_00"), &info), ERR_UNAUTHENTICATED);
	CHECK_ERR(tokens_check(t, STR(""), &info), ERR_UNAUTHENTICATED);
	CHECK_ERR(token_revoke(f.path, STR("nobody"), NULL), ERR_NOT_FOUND);
	CHECK_OK(tokens_check(t, buf_view(&token), &info));
	CHECK_OK(token_revoke(f.path, str_of(info.id), NULL));
	CHECK_OK(tokens_open(f.path, false, &again, NULL));
	CHECK_ERR(tokens_check(again, buf_view(&token), &info), ERR_UNAUTHENTICATED);
}

TEST(only_the_owner_reads_tokens_and_what_was_done_to_them)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(200), audit = BUF_INIT(1 << 16);
	struct stat st;
	FILES(f);

	umask(0);
	CHECK_OK(token_create(f.path, STR("one"), TOKEN_READ, STR(""), &token, NULL));
	CHECK(!stat(f.path, &st) && (st.st_mode & 0777) == 0600);
	CHECK(!stat(f.audit, &st) && (st.st_mode & 0777) == 0600);
	/* Also when somebody had opened it to others. */
	CHECK(!chmod(f.path, 0644));
	CHECK_OK(token_create(f.path, STR("two"), TOKEN_ADMIN, STR(""), &token, NULL));
	CHECK(!stat(f.path, &st) && (st.st_mode & 0777) == 0600);
	CHECK_OK(file_read(f.audit, &audit, NULL));
	CHECK(strstr(audit.data, "\"action\":\"token_create\""));
	CHECK(strstr(audit.data, "\"tenant\":\"two\",\"rights\":\"admin\""));
	CHECK(!strstr(audit.data, "vst_"));
}

TEST(tenants_that_are_no_names_get_no_tokens)
{
	static const char *const bad[] = {"", ".", "..", "a b", "a/b", "a\nb", "\xc3\xa4", "a\"b"};
	CLEANUP(buf_release) struct buf token = BUF_INIT(200);
	FILES(f);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_ERR(token_create(f.path, str_of(bad[i]), TOKEN_READ, STR(""), &token, NULL),
			  ERR_BAD_ARGUMENT);
	CHECK(!tenant_valid(STR("a\0b")));
	CHECK(tenant_valid(STR("Team-1_x.(y)!*'")));
	CHECK(access(f.path, F_OK) != 0);
}

TEST(a_damaged_file_lets_nobody_in)
{
	static const char *const bad[] = {"x\n", "id hash one read 1 name\n", "\xff\xff\n"};
	struct fault fault = {0};
	struct tokens *t;
	FILES(f);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_OK(file_write(f.path, str_of(bad[i]), OUTPUT_FORCE, NULL));
		CHECK_ERR(tokens_open(f.path, false, &t, &fault), ERR_CORRUPT);
	}
	unlink(f.path);
	CHECK_ERR(tokens_open(f.path, false, &t, &fault), ERR_NOT_FOUND);
}

TEST(the_first_token_and_every_change_hold_at_once)
{
	CLEANUP(buf_release) struct buf first = BUF_INIT(200), second = BUF_INIT(200);
	CLEANUP(tokens_closep) struct tokens *t = NULL;
	struct token_info info, other;
	FILES(f);

	CHECK_OK(tokens_open(f.path, true, &t, NULL));
	CHECK(!tokens_required(t));
	CHECK_OK(token_create(f.path, STR("one"), TOKEN_READ, STR(""), &first, NULL));
	CHECK(tokens_required(t));
	CHECK_OK(tokens_check(t, buf_view(&first), &info));
	CHECK_OK(token_create(f.path, STR("two"), TOKEN_OPERATOR, STR(""), &second, NULL));
	CHECK_OK(tokens_check(t, buf_view(&second), &other));
	CHECK_INT(other.rights, TOKEN_OPERATOR);
	CHECK_OK(token_revoke(f.path, str_of(info.id), NULL));
	CHECK_ERR(tokens_check(t, buf_view(&first), &info), ERR_UNAUTHENTICATED);
	/* The last one too: nobody gets in, but not everybody. */
	CHECK_OK(token_revoke(f.path, str_of(other.id), NULL));
	CHECK_ERR(tokens_check(t, buf_view(&second), &info), ERR_UNAUTHENTICATED);
	CHECK(tokens_required(t));
}

TEST(a_file_of_tokens_that_is_damaged_or_goes_away_never_opens_access)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(200), kept = BUF_INIT(4096);
	CLEANUP(tokens_closep) struct tokens *t = NULL;
	struct token_info info;
	FILES(f);

	CHECK_OK(tokens_open(f.path, true, &t, NULL));
	CHECK_OK(file_write(f.path, STR("no token\n"), 0, NULL));
	CHECK(tokens_required(t));
	CHECK_ERR(token_create(f.path, STR("one"), TOKEN_READ, STR(""), &token, NULL), ERR_CORRUPT);
	CHECK(!unlink(f.path));
	CHECK(tokens_required(t));
	CHECK_OK(token_create(f.path, STR("one"), TOKEN_READ, STR(""), &token, NULL));
	CHECK_OK(tokens_check(t, buf_view(&token), &info));
	CHECK_OK(file_read(f.path, &kept, NULL));
	CHECK(!unlink(f.path));
	CHECK(tokens_required(t));
	CHECK_ERR(tokens_check(t, buf_view(&token), &info), ERR_UNAUTHENTICATED);
	/* Something else under the name. */
	CHECK(!mkdir(f.path, 0700));
	CHECK(tokens_required(t));
	CHECK_ERR(tokens_check(t, buf_view(&token), &info), ERR_UNAUTHENTICATED);
	CHECK(!rmdir(f.path));
	CHECK_OK(file_write(f.path, buf_view(&kept), 0, NULL));
	CHECK_OK(tokens_check(t, buf_view(&token), &info));
}

static void count_token(void *context, const struct token_info *info)
{
	(void)info;
	++*(int *)context;
}

static enum err use_tokens(const char *path)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(200);
	CLEANUP(tokens_closep) struct tokens *t = NULL;
	struct token_info info;
	int n = 0;

	TRY(token_create(path, STR("one"), TOKEN_READ, STR(""), &token, NULL));
	TRY(tokens_open(path, false, &t, NULL));
	TRY(tokens_check(t, buf_view(&token), &info));
	TRY(token_list(path, count_token, &n, NULL));
	return n ? token_revoke(path, str_of(info.id), NULL) : ERR_INTERNAL;
}

TEST(tokens_survive_a_lack_of_memory)
{
	FILES(f);

	/* What libcrypto does at its first use is not ours to sweep. */
	CHECK_OK(use_tokens(f.path));
	ALLOC_SWEEP(use_tokens(f.path));
}

/* ------------------------------------------------------------------ graphs and paths */

static enum err make(struct made *m)
{
	TRY(made_init(m, 1));
	TRY(maker_add(&m->p, "main;work;inner", "", (int64_t[]){70}));
	TRY(maker_add(&m->p, "main;work", "", (int64_t[]){20}));
	TRY(maker_add(&m->p, "main;work;work", "", (int64_t[]){5}));
	return maker_add(&m->p, "init", "", (int64_t[]){10});
}

static enum err draw(size_t nodes, struct buf *out)
{
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(made_release) struct made m = {0};
	struct tree_column column = {&m.p, 0};

	TRY(make(&m));
	TRY(tree_build(&column, 1, &(struct tree_options){0}, &t));
	return call_graph_dot(&t, nodes, out);
}

TEST(a_call_graph_counts_a_function_once_on_a_path)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);

	CHECK_OK(draw(100, &out));
	CHECK(strstr(out.data, "[label=\"work\\n25 of 95\"]"));
	CHECK(strstr(out.data, "[label=\"main\\n0 of 95\"]"));
	CHECK(strstr(out.data, "[label=\"init\\n10 of 10\"]"));
	CHECK(strstr(out.data, "-> N") && strstr(out.data, "[label=\"70\"]"));
}

TEST(a_call_graph_shows_the_largest_functions)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);

	CHECK_OK(draw(2, &out));
	CHECK(strstr(out.data, "main") && strstr(out.data, "work"));
	CHECK(!strstr(out.data, "inner") && !strstr(out.data, "init"));
}

static enum err draw_again(void)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);

	return draw(100, &out);
}

TEST(call_graphs_survive_a_lack_of_memory)
{
	ALLOC_SWEEP(draw_again());
}

static enum err keep(const struct str *path, size_t n, int64_t *ret_total)
{
	CLEANUP(made_release) struct made m = {0};

	TRY(make(&m));
	TRY(profile_keep_path(&m.p, path, n));
	*ret_total = 0;
	for (size_t i = 0; i < m.p.row_count; i++)
		*ret_total += m.p.values[i];
	return ERR_OK;
}

TEST(stacks_below_a_path_are_kept)
{
	const struct str path[] = {STR("main"), STR("work"), STR("inner"), STR("more")};
	const struct str other[] = {STR("work")};
	int64_t total;

	CHECK_OK(keep(path, 1, &total));
	CHECK_INT(total, 95);
	CHECK_OK(keep(path, 3, &total));
	CHECK_INT(total, 70);
	CHECK_OK(keep(path, 4, &total));
	CHECK_INT(total, 0);
	CHECK_OK(keep(other, 1, &total));
	CHECK_INT(total, 0);
	ALLOC_SWEEP(keep(path, 2, &total));
}

static enum err cut(uint64_t locations, size_t *ret_rows)
{
	CLEANUP(made_release) struct made m = {0};

	TRY(make(&m));
	TRY(profile_keep_callees(&m.p, locations, true));
	*ret_rows = m.p.row_count;
	return profile_total(&m.p, 0) == 105 ? ERR_OK : ERR_INTERNAL;
}

TEST(stacks_are_cut_to_the_callees_a_compiler_looks_at)
{
	size_t rows;

	CHECK_OK(cut(1, &rows));
	CHECK_INT(rows, 3);
	CHECK_OK(cut(2, &rows));
	CHECK_INT(rows, 4);
	CHECK_OK(cut(0, &rows));
	CHECK_INT(rows, 4);
	ALLOC_SWEEP(cut(1, &rows));
}

TEST(lines_of_leaves_are_one_when_callees_are_aggregated)
{
	CLEANUP(made_release) struct made m = {0};
	struct frame frame = {.line = 10, .address = 1, .flags = FRAME_HAS_LINE};
	struct row row = {0};
	int64_t one = 1;
	uint32_t id;

	CHECK_OK(made_init(&m, 1));
	for (int line = 10; line < 13; line++) {
		frame.line = line;
		CHECK_OK(dict_frame(&m.dict, &frame, &id));
		CHECK_OK(dict_stack(&m.dict, &id, 1, &row.stack));
		CHECK_OK(profile_add(&m.p, &row, &one));
	}
	CHECK_OK(profile_keep_callees(&m.p, 5, false));
	CHECK_INT(m.p.row_count, 3);
	CHECK_OK(profile_keep_callees(&m.p, 5, true));
	CHECK_INT(m.p.row_count, 1);
	CHECK_INT(m.p.values[0], 3);
}
