#include "profile_maker.h"

#include "base/buf.h"

/* The rows of a profile as "main;a 3" lines in their order, root first. */
static struct str rows_text(const struct profile *p, struct buf *out)
{
	for (size_t i = 0; i < p->row_count; i++) {
		uint32_t n;
		const uint32_t *frames = stack_frames(p->dict, p->stack[i], &n);

		while (n--) {
			frame_label(p->dict, frames[n], out);
			if (p->dict->frames.v[frames[n]].flags & FRAME_INLINED)
				buf_byte(out, '~');
			buf_byte(out, n ? ';' : ' ');
		}
		buf_i64(out, profile_values(p, i)[0]);
		buf_byte(out, '\n');
	}
	return buf_view(out);
}

static void free_pattern(struct pattern **p)
{
	pattern_free(*p);
}

#define PATTERN(name, source)                              \
	CLEANUP(free_pattern) struct pattern *name = NULL; \
	CHECK_OK(pattern_new(str_of(source), 0, &name, NULL))

#define CHECK_FILTER(m, f, expected)                                        \
	do {                                                                \
		CLEANUP(profile_release) struct profile out_;               \
		CLEANUP(buf_release) struct buf text_ = BUF_INIT(1 << 16);  \
		profile_init(&out_, (m)->p.dict);                           \
		CHECK_OK(profile_filter(&(m)->p, &(f), &out_, NULL, NULL)); \
		CHECK_STR(rows_text(&out_, &text_), expected);              \
	} while (0)

static enum err fill(struct made *m)
{
	TRY(made_init(m, 1));
	TRY(maker_row(&m->p, "main;a;b", 1));
	TRY(maker_row(&m->p, "main;b;c", 2));
	TRY(maker_row(&m->p, "init;x@lib/a.c:7", 4));
	TRY(maker_row(&m->p, "main;a;b;c;b", 8));
	return maker_row(&m->p, "", 16);
}

TEST(focus_keeps_stacks_and_ignore_drops_them)
{
	MADE(m);
	struct filter f = {0};

	CHECK_OK(fill(&m));
	PATTERN(c, "^c$");
	PATTERN(file, "lib/");
	f.focus = c;
	CHECK_FILTER(&m, f, "main;b;c 2\nmain;a;b;c;b 8\n");
	f.focus = NULL;
	f.ignore = c;
	CHECK_FILTER(&m, f, "main;a;b 1\ninit;x 4\n");
	f.focus = file;
	CHECK_FILTER(&m, f, "init;x 4\n");
	f.focus = c;
	CHECK_FILTER(&m, f, "");
}

TEST(no_filter_keeps_all)
{
	MADE(m);
	struct filter f = {0};

	CHECK_OK(fill(&m));
	CHECK_FILTER(&m, f, "main;a;b 1\nmain;b;c 2\ninit;x 4\nmain;a;b;c;b 8\n16\n");
}

TEST(hide_removes_frames_and_show_keeps_only_them)
{
	MADE(m);
	struct filter f = {0};

	CHECK_OK(fill(&m));
	PATTERN(b, "^b$");
	PATTERN(main, "main|init|x");
	f.hide = b;
	CHECK_FILTER(&m, f, "main;a 1\nmain;c 2\ninit;x 4\nmain;a;c 8\n");
	f.hide = NULL;
	f.show = b;
	CHECK_FILTER(&m, f, "b 1\nb 2\nb;b 8\n");
	f.hide = main;
	f.show = NULL;
	CHECK_FILTER(&m, f, "a;b 1\nb;c 2\na;b;c;b 8\n");
}

TEST(show_from_cuts_what_is_above_the_outermost_match)
{
	MADE(m);
	struct filter f = {0};

	CHECK_OK(fill(&m));
	PATTERN(b, "^b$");
	PATTERN(a, "^a$");
	f.show_from = b;
	CHECK_FILTER(&m, f, "b 1\nb;c 2\nb;c;b 8\n");
	f.focus = a;
	CHECK_FILTER(&m, f, "b 1\nb;c;b 8\n");
	f.focus = NULL;
	f.hide = a;
	f.show_from = a;
	CHECK_FILTER(&m, f, "");
}

TEST(inlined_frames_are_lines_of_one_location)
{
	MADE(m);
	struct filter f = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;outer;mid~;leaf~", 1));
	PATTERN(outer, "outer");
	PATTERN(mid, "mid");
	f.hide = outer;
	CHECK_FILTER(&m, f, "main;mid;leaf~ 1\n");
	f.hide = mid;
	CHECK_FILTER(&m, f, "main;outer;leaf~ 1\n");
	f.hide = NULL;
	f.show_from = mid;
	CHECK_FILTER(&m, f, "mid;leaf~ 1\n");
}

TEST(module_counts_as_a_name)
{
	MADE(m);
	struct filter f = {0};
	struct mapping mapping = {.start = 0x1000, .limit = 0x2000};
	struct frame frame = {.address = 0x1010};
	uint32_t id, stack;
	int64_t one = 1;

	CHECK_OK(fill(&m));
	CHECK_OK(dict_text(&m.dict, "/lib/libz.so", &mapping.file));
	CHECK_OK(dict_mapping(&m.dict, &mapping, &frame.mapping));
	CHECK_OK(dict_frame(&m.dict, &frame, &id));
	CHECK_OK(dict_stack(&m.dict, &id, 1, &stack));
	CHECK_OK(profile_add(&m.p, &(struct row){.stack = stack}, &one));
	PATTERN(libz, "libz");
	f.focus = libz;
	CHECK_FILTER(&m, f, "libz.so+0x10 1\n");
}

TEST(tags_select_rows_by_label_or_by_the_profiles_own_attributes)
{
	MADE(m);
	struct filter f = {.tag_count = 1};
	uint32_t pid;
	struct row row = {0};
	int64_t value = 8;
	struct label number = {.type = LABEL_INT, .value = 42};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_add(&m.p, "a", "thread=main,zone=eu", (int64_t[]){1}));
	CHECK_OK(maker_add(&m.p, "b", "thread=worker-1", (int64_t[]){2}));
	CHECK_OK(maker_add(&m.p, "c", "", (int64_t[]){4}));
	CHECK_OK(maker_stack(&m.dict, "d", &row.stack));
	CHECK_OK(dict_text(&m.dict, "pid", &number.key));
	CHECK_OK(dict_label(&m.dict, &number, &pid));
	CHECK_OK(dict_label_set(&m.dict, &pid, 1, &row.labels));
	CHECK_OK(profile_add(&m.p, &row, &value));
	CHECK_OK(maker_labels(&m.dict, "service=shop,zone=us", &m.p.resource));
	PATTERN(worker, "^worker");
	PATTERN(us, "us|42");
	PATTERN(shop, "shop");
	f.tags[0] = (struct tag_filter){.key = STR("thread")};
	CHECK_FILTER(&m, f, "a 1\nb 2\n");
	f.tags[0].value = worker;
	CHECK_FILTER(&m, f, "b 2\n");
	f.tags[0] = (struct tag_filter){.key = STR("pid"), .value = us};
	CHECK_FILTER(&m, f, "d 8\n");
	f.tags[0].key = STR("zone");
	CHECK_FILTER(&m, f, "b 2\nc 4\nd 8\n");
	f.tags[1] = (struct tag_filter){.key = STR("service"), .value = shop};
	f.tag_count = 2;
	CHECK_FILTER(&m, f, "b 2\nc 4\nd 8\n");
	f.tags[1].value = us;
	CHECK_FILTER(&m, f, "");
}

static enum err number_row(struct made *m, const char *name, const char *key, const char *unit,
			   int64_t value)
{
	struct label l = {.type = LABEL_INT, .value = value};
	struct row row = {0};
	int64_t one = 1;
	uint32_t id;

	TRY(dict_text(&m->dict, key, &l.key));
	TRY(dict_text(&m->dict, unit, &l.unit));
	TRY(dict_label(&m->dict, &l, &id));
	TRY(dict_label_set(&m->dict, &id, 1, &row.labels));
	TRY(maker_stack(&m->dict, name, &row.stack));
	return profile_add(&m->p, &row, &one);
}

static bool is_range(const char *text, struct tag_filter *ret)
{
	return tag_filter_range(str_of(text), ret);
}

TEST(ranges_compare_numbers_across_units)
{
	MADE(m);
	struct filter f = {.tag_count = 1};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(number_row(&m, "a", "bytes", "", 512));
	CHECK_OK(number_row(&m, "b", "bytes", "bytes", 4096));
	CHECK_OK(number_row(&m, "c", "bytes", "kilobytes", 5));
	CHECK_OK(number_row(&m, "d", "size", "", 5));
	CHECK_OK(maker_add(&m.p, "e", "bytes=12:30", (int64_t[]){1}));
	f.tags[0].key = STR("bytes");
	CHECK(is_range("1kb:1mb", &f.tags[0]));
	CHECK_FILTER(&m, f, "b 1\nc 1\n");
	CHECK(is_range(":4kb", &f.tags[0]));
	CHECK_FILTER(&m, f, "a 1\nb 1\n");
	CHECK(is_range("4kb", &f.tags[0]));
	CHECK_FILTER(&m, f, "b 1\n");
	CHECK(is_range("5kb:", &f.tags[0]));
	CHECK_FILTER(&m, f, "c 1\n");
	CHECK(is_range("5:600", &f.tags[0]));
	CHECK_FILTER(&m, f, "a 1\nc 1\n");
	f.tags[0].negate = true;
	CHECK_FILTER(&m, f, "b 1\nd 1\ne 1\n");
	f.tags[0].negate = false;
	f.tags[0].key = STR("size");
	CHECK(is_range("1s:", &f.tags[0]));
	CHECK_FILTER(&m, f, "");
	PATTERN(literal, "^12:30$");
	f.tags[0].key = STR("bytes");
	f.tags[0].value = literal;
	CHECK(is_range("12:30", &f.tags[0]));
	CHECK_FILTER(&m, f, "e 1\n");
}

TEST(what_is_no_range_is_left_alone)
{
	struct tag_filter t = {0};

	CHECK(!is_range("", &t));
	CHECK(!is_range(":", &t));
	CHECK(!is_range("worker-1", &t));
	CHECK(!is_range("1kb:2s", &t));
	CHECK(!is_range("1:2:3", &t));
	CHECK(!is_range("4 kb", &t));
	CHECK(!is_range("-", &t));
	CHECK(!t.is_range);
	CHECK(is_range("-5:+7", &t));
	CHECK(t.min == -5 && t.max == 7);
}

TEST(result_states_what_is_left)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;
	struct filter f = {0};
	struct filter_result result;

	CHECK_OK(fill(&m));
	profile_init(&out, &m.dict);
	PATTERN(x, "^x$");
	f.focus = x;
	CHECK_OK(profile_filter(&m.p, &f, &out, &result, NULL));
	CHECK_INT(result.rows_in, 5);
	CHECK_INT(result.rows_out, 1);
	CHECK(result.kept[0] > 4.0 / 31 - 1e-9 && result.kept[0] < 4.0 / 31 + 1e-9);
}

TEST(exploding_pattern_ends_the_filter_with_a_sentence)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;
	struct filter f = {0};
	struct fault fault = {0};

	CHECK_OK(made_init(&m, 1));
	profile_init(&out, &m.dict);
	CHECK_OK(maker_row(&m.p, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
			   1));
	PATTERN(bomb, "^(a|aa)+b$|^(a+)+$");
	f.focus = bomb;
	CHECK_ERR(profile_filter(&m.p, &f, &out, NULL, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "too long"));
}

/* From pprof's own description: everything beneath the first match seen from the root goes. */
TEST(drop_frames_cuts_below_the_first_match_but_keeps_the_root_side)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out;
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

	CHECK_OK(made_init(&m, 1));
	profile_init(&out, &m.dict);
	CHECK_OK(maker_row(&m.p, "main;work;malloc(int);deep", 1));
	CHECK_OK(maker_row(&m.p, "malloc;main;work", 2));
	CHECK_OK(maker_row(&m.p, "malloc;main;malloc;x", 4));
	CHECK_OK(maker_row(&m.p, "main;malloc_keep;x", 8));
	CHECK_OK(maker_row(&m.p, "main;outer;malloc~;in~;leaf", 16));
	CHECK_OK(maker_row(&m.p, "main;x::operator()(int);y", 32));
	CHECK_OK(dict_text(&m.dict, "malloc.*|x::operator\\(\\)", &m.p.drop_frames));
	CHECK_OK(dict_text(&m.dict, "malloc_keep", &m.p.keep_frames));
	CHECK_OK(profile_drop_frames(&m.p, &out, NULL));
	CHECK_STR(rows_text(&out, &text), "main;work 1\nmalloc;main;work 2\nmalloc;main 4\n"
					  "main;malloc_keep;x 8\nmain;outer 16\nmain 32\n");
}

TEST(bad_drop_frames_names_the_field)
{
	MADE(m);
	struct profile out;
	struct fault fault = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(dict_text(&m.dict, "a(", &m.p.drop_frames));
	CHECK_ERR(profile_drop_frames(&m.p, &out, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "drop_frames: "));
}

static enum err all_filters(void)
{
	MADE(m);
	CLEANUP(profile_release) struct profile out = {0};
	CLEANUP(profile_release) struct profile dropped = {0};
	CLEANUP(free_pattern) struct pattern *p = NULL;
	struct filter f = {.tag_count = 1};

	TRY(fill(&m));
	TRY(dict_text(&m.dict, "c", &m.p.drop_frames));
	TRY(pattern_new(STR("b"), 0, &p, NULL));
	f.focus = f.hide = p;
	f.tags[0].key = STR("k");
	TRY(maker_labels(&m.dict, "k=v", &m.p.resource));
	TRY(profile_filter(&m.p, &f, &out, NULL, NULL));
	return profile_drop_frames(&out, &dropped, NULL);
}

TEST(filters_survive_any_allocation_failing)
{
	ALLOC_SWEEP(all_filters());
}
