#include "cli/live_rows.h"
#include "cli/live_screen.h"

#include "test.h"

/* Two processes; `loop` calls itself once. */
static enum err make_profile(struct profile *p)
{
	static const char *const stacks[][4] = {
		{"work", "loop", "loop", "main"}, {"read", "main"}, {"work", "main"}};
	static const int64_t values[][2] = {{600, 0}, {0, 3000}, {400, 0}};
	static const char *const processes[] = {"first", "first", "second"};

	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	TRY(profile_add_type(p, STR("off_cpu"), STR("nanoseconds")));
	for (size_t i = 0; i < 3; i++) {
		uint32_t ids[4], n = 0, label;
		struct row row = {0};

		while (n < 4 && stacks[i][n]) {
			TRY(dict_named_frame(p->dict, str_of(stacks[i][n]), &ids[n]));
			n++;
		}
		TRY(dict_stack(p->dict, ids, n, &row.stack));
		TRY(dict_label_text(p->dict, STR("process"), str_of(processes[i]), &label));
		TRY(dict_label_set(p->dict, &label, 1, &row.labels));
		TRY(profile_add(p, &row, values[i]));
	}
	return ERR_OK;
}

static const struct live_row *find(const struct live_rows *r, const char *process, const char *name)
{
	vec_for_each (row, &r->list)
		if (str_eq(row->name, str_of(name)) && str_eq(row->process, str_of(process)))
			return row;
	return NULL;
}

static enum err fill(struct live_rows *rows, bool by_process)
{
	struct profile p;
	struct dict d;
	enum err e;

	TRY(dict_init(&d, 0));
	profile_init(&p, &d);
	e = make_profile(&p);
	if (!e)
		e = live_rows_profile(rows, &p, by_process);
	profile_release(&p);
	dict_release(&d);
	return e;
}

TEST(recursion_counts_once_and_processes_stay_apart)
{
	CLEANUP(live_rows_release) struct live_rows r = {0};
	const struct live_row *row;

	CHECK_OK(fill(&r, true));
	row = find(&r, "first", "loop");
	CHECK(row && row->values.cum[LIVE_CPU] == 600 && row->values.flat[LIVE_CPU] == 0);
	row = find(&r, "first", "main");
	CHECK(row && row->values.cum[LIVE_CPU] == 600 && row->values.cum[LIVE_WAIT] == 3000);
	row = find(&r, "second", "work");
	CHECK(row && row->values.flat[LIVE_CPU] == 400);
	CHECK(r.total[LIVE_CPU] == 1000 && r.total[LIVE_WAIT] == 3000);
}

/* Two functions of one name, in two files, in one stack: what is below both counts once. */
TEST(functions_of_one_name_are_one_row_and_count_once)
{
	CLEANUP(live_rows_release) struct live_rows r = {0};
	const struct live_row *row;
	uint32_t ids[2], files[2], name;
	struct row sample = {0};
	int64_t value = 700;
	struct profile p;
	struct dict d;

	CHECK_OK(dict_init(&d, 0));
	profile_init(&p, &d);
	CHECK_OK(profile_add_type(&p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(dict_text(&d, "init", &name));
	CHECK_OK(dict_text(&d, "a.c", &files[0]));
	CHECK_OK(dict_text(&d, "b.c", &files[1]));
	for (int i = 0; i < 2; i++) {
		struct function function = {.name = name, .system_name = name, .file = files[i]};
		struct frame frame = {0};

		CHECK_OK(dict_function(&d, &function, &frame.function));
		CHECK_OK(dict_frame(&d, &frame, &ids[i]));
	}
	CHECK_OK(dict_stack(&d, ids, 2, &sample.stack));
	CHECK_OK(profile_add(&p, &sample, &value));
	CHECK_OK(live_rows_profile(&r, &p, false));
	row = find(&r, "", "init");
	CHECK_INT(r.list.n, 1);
	CHECK(row && row->values.flat[LIVE_CPU] == 700 && row->values.cum[LIVE_CPU] == 700);
	profile_release(&p);
	dict_release(&d);
}

TEST(seconds_add_up)
{
	CLEANUP(live_rows_release) struct live_rows one = {0};
	CLEANUP(live_rows_release) struct live_rows sum = {0};
	const struct live_row *row;

	CHECK_OK(fill(&one, false));
	CHECK_OK(live_rows_sum(&sum, &one));
	CHECK_OK(live_rows_sum(&sum, &one));
	row = find(&sum, "", "work");
	CHECK(row && row->values.flat[LIVE_CPU] == 2000);
	CHECK(sum.total[LIVE_WAIT] == 6000);
	CHECK_INT(sum.list.n, 4);
}

static enum err fill_once(void)
{
	CLEANUP(live_rows_release) struct live_rows one = {0};
	CLEANUP(live_rows_release) struct live_rows sum = {0};

	TRY(fill(&one, true));
	return live_rows_sum(&sum, &one);
}

TEST(memory_may_fail_anywhere)
{
	ALLOC_SWEEP(fill_once());
}

TEST(rows_are_in_order_filtered_and_scrolled)
{
	CLEANUP(live_rows_release) struct live_rows r = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
	struct live_look look = {.measures = {true, true}, .seconds = 1e-6, .by_process = true};

	CHECK_OK(fill(&r, true));
	live_rows_sort(&r, LIVE_BY_CPU);
	CHECK_STR(r.list.v[0].name, "work");
	CHECK_STR(r.list.v[0].process, "first");
	live_rows_sort(&r, LIVE_BY_WAIT);
	CHECK_STR(r.list.v[0].name, "read");
	live_rows_sort(&r, LIVE_BY_CPU_CUM);
	live_render(&r, &look, &out);
	CHECK(strstr(out.data, "cpu 100.0%  waiting 3.0 threads"));
	CHECK(strstr(out.data, "second") && strstr(out.data, "loop"));
	buf_clear(&out);
	snprintf(look.filter, sizeof(look.filter), "SECOND");
	live_render(&r, &look, &out);
	CHECK(!strstr(out.data, "loop") && strstr(out.data, "work"));
	buf_clear(&out);
	look.filter[0] = 0;
	look.scroll = r.list.n - 1;
	live_render(&r, &look, &out);
	CHECK(!strstr(out.data, "loop"));
	buf_clear(&out);
	look.scroll = 0;
	look.rows = 1;
	look.measures[LIVE_WAIT] = false;
	live_render(&r, &look, &out);
	CHECK(!strstr(out.data, "waiting") && !strstr(out.data, "second"));
}

TEST(keys_of_terminals_are_understood)
{
	size_t used;

	CHECK_INT(screen_decode("q", 1, &used), 'q');
	CHECK_INT(screen_decode("\033[A", 3, &used), KEY_UP);
	CHECK_INT(used, 3);
	CHECK_INT(screen_decode("\033OBx", 4, &used), KEY_DOWN);
	CHECK_INT(used, 3);
	CHECK_INT(screen_decode("\033[5~", 4, &used), KEY_PAGE_UP);
	CHECK_INT(screen_decode("\033", 1, &used), KEY_ESCAPE);
	CHECK_INT(used, 1);
	CHECK_INT(screen_decode("\033[1;5Cq", 7, &used), KEY_OTHER);
	CHECK_INT(used, 6);
	CHECK_INT(screen_decode("\033[", 2, &used), KEY_OTHER);
	CHECK_INT(used, 2);
}
