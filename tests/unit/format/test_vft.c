#include "../test.h"

#include "format/formats_internal.h"
#include "format/vft.h"

/* The sections of an answer, found by the rules of docs/formats/vft.md. */
struct sections {
	struct str meta;
	const uint32_t *counts, *parent, *frame, *name, *kind, *table_frame, *offsets;
	const double *self, *table_self, *table_total;
	const char *text;
	size_t end;
};

static const void *take(const struct buf *b, size_t *at, size_t bytes)
{
	const void *p = b->data + *at;

	*at = (*at + bytes + 7) / 8 * 8;
	return p;
}

static struct sections parse(const struct buf *b)
{
	struct sections s = {0};
	uint32_t length, nodes, frames, columns, rows;
	size_t at = 8;

	memcpy(&length, b->data + 4, 4);
	s.meta = str_n(take(b, &at, length), length);
	/* The length counts from byte 8, the padding from byte 0. */
	at = (8 + (size_t)length + 7) / 8 * 8;
	s.counts = take(b, &at, 32);
	nodes = s.counts[0], frames = s.counts[1], rows = s.counts[3], columns = s.counts[4];
	s.parent = take(b, &at, nodes * 4);
	s.frame = take(b, &at, nodes * 4);
	s.self = take(b, &at, (size_t)nodes * 8 * columns);
	s.name = take(b, &at, frames * 4);
	take(b, &at, frames * 4);
	take(b, &at, frames * 4);
	take(b, &at, frames * 4);
	s.kind = take(b, &at, frames * 4);
	s.table_frame = take(b, &at, rows * 4);
	s.table_self = take(b, &at, (size_t)rows * 8 * columns);
	s.table_total = take(b, &at, (size_t)rows * 8 * columns);
	s.offsets = take(b, &at, (s.counts[2] + 1) * 4);
	s.text = b->data + at;
	s.end = at + s.counts[5];
	return s;
}

static struct str string_at(const struct sections *s, uint32_t i)
{
	return str_n(s->text + s->offsets[i], s->offsets[i + 1] - s->offsets[i]);
}

/* Two types and three stacks below main: work 60, work;inner 30, rest 10. */
static enum err make_profile(struct dict *d, struct profile_list *list, int64_t factor)
{
	struct profile *p;
	uint32_t main_, work, inner, rest, stack;

	TRY(profile_list_add(list, d, &p));
	TRY(profile_add_type(p, STR("samples"), STR("count")));
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	TRY(dict_named_frame(d, STR("main"), &main_));
	TRY(dict_named_frame(d, STR("work<T>"), &work));
	TRY(dict_named_frame(d, STR("inner"), &inner));
	TRY(dict_named_frame(d, STR("rest"), &rest));
	TRY(dict_stack(d, (uint32_t[]){work, main_}, 2, &stack));
	TRY(profile_add(p, &(struct row){.stack = stack}, (int64_t[]){6, 60}));
	TRY(dict_stack(d, (uint32_t[]){inner, work, main_}, 3, &stack));
	TRY(profile_add(p, &(struct row){.stack = stack}, (int64_t[]){3 * factor, 30 * factor}));
	TRY(dict_stack(d, (uint32_t[]){rest, main_}, 2, &stack));
	return profile_add(p, &(struct row){.stack = stack}, (int64_t[]){1, 10});
}

TEST(tree_has_every_section_where_the_format_says)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = &list, .type = -1, .title = "a \"title\""};
	struct sections s;
	double total = 0;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &list, 1));
	CHECK_OK(vft_encode(&w, &out));
	CHECK(memcmp(out.data, "VFT1", 4) == 0);
	s = parse(&out);
	CHECK_INT(s.end, out.n);
	CHECK_INT(s.counts[0], 5);
	CHECK_INT(s.counts[3], 4);
	CHECK_INT(s.counts[4], 2);
	for (uint32_t i = 1; i < s.counts[0]; i++)
		CHECK(s.parent[i] < i);
	for (uint32_t i = 0; i < s.counts[0]; i++)
		total += s.self[s.counts[0] + i];
	CHECK(total == 100);
	CHECK_STR(string_at(&s, s.name[0]), "all");
	CHECK_STR(string_at(&s, s.name[s.frame[1]]), "main");
	CHECK(str_search(s.meta, STR("\"a \\\"title\\\"\"")) < s.meta.n);
	CHECK(str_search(s.meta, STR("\"default_type\":1")) < s.meta.n ||
	      str_search(s.meta, STR("\"default_type\": 1")) < s.meta.n);
}

TEST(table_is_exact_even_where_the_tree_is_pruned)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = &list, .type = -1, .min_share = 0.2};
	struct sections s;
	double tree = 0, table = 0;
	bool pruned = false;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &list, 1));
	CHECK_OK(vft_encode(&w, &out));
	s = parse(&out);
	for (uint32_t i = 0; i < s.counts[0]; i++) {
		tree += s.self[s.counts[0] + i];
		pruned |= str_eq(string_at(&s, s.kind[s.frame[i]]), STR("pruned"));
	}
	for (uint32_t i = 0; i < s.counts[3]; i++)
		table += s.table_self[s.counts[3] + i];
	CHECK(pruned);
	CHECK(tree == 100);
	CHECK(table == 100);
	CHECK_INT(s.counts[3], 4);
}

TEST(difference_has_two_columns_per_type_and_their_scale)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list before = {0};
	CLEANUP(profile_list_release) struct profile_list after = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = &after, .type = -1};
	struct sections s;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &before, 1));
	CHECK_OK(make_profile(&d, &after, 5));
	w.baseline = before.v[0];
	CHECK_OK(vft_encode(&w, &out));
	s = parse(&out);
	CHECK_INT(s.counts[4], 4);
	CHECK(str_search(s.meta, STR("2.2")) < s.meta.n);
}

TEST(svg_escapes_names_and_states_what_it_left_out)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = &list, .type = -1, .title = "<&>"};

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &list, 1));
	CHECK_OK(svg_write(&w, &out));
	CHECK(str_search(buf_view(&out), STR("work&lt;T&gt;")) < out.n);
	CHECK(str_search(buf_view(&out), STR("&lt;&amp;&gt;")) < out.n);
	CHECK(str_search(buf_view(&out), STR("work<T>")) == out.n);
	CHECK(str_search(buf_view(&out), STR("nothing is left out")) < out.n);
	buf_clear(&out);
	w.min_share = 0.5;
	CHECK_OK(svg_write(&w, &out));
	CHECK(str_search(buf_view(&out), STR("too small to show")) < out.n);
}

TEST(xml_text_has_only_characters_of_xml)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 10);

	put_xml_text(&out, STR("a\x01 \xff \xef\xbf\xbf \xef\xbf\xbd \xc3\xa9"));
	CHECK_STR(buf_view(&out), "a\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xc3\xa9");
}

static enum err encode_all(const struct profile_list *list)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = list, .type = -1};

	TRY(vft_encode(&w, &out));
	return svg_write(&w, &out);
}

TEST(pictures_survive_any_allocation_failing)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &list, 1));
	ALLOC_SWEEP(encode_all(&list));
}

TEST(module_is_the_package_where_everything_is_one_binary)
{
	CLEANUP(dict_release) struct dict d = {0};
	struct function f = {0};
	struct frame frame = {.flags = FRAME_HAS_LINE, .kind = KIND_GO};
	struct mapping m = {0};
	uint32_t id;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_text(&d, "net/http.(*conn).serve", &f.name));
	CHECK_OK(dict_function(&d, &f, &frame.function));
	CHECK_OK(dict_frame(&d, &frame, &id));
	CHECK_STR(frame_module(&d, id), "net/http");
	frame.kind = KIND_JVM;
	CHECK_OK(dict_text(&d, "java.util.HashMap.put", &f.name));
	CHECK_OK(dict_function(&d, &f, &frame.function));
	CHECK_OK(dict_frame(&d, &frame, &id));
	CHECK_STR(frame_module(&d, id), "java.util");
	frame.kind = KIND_NATIVE;
	CHECK_OK(dict_text(&d, "/usr/lib/libssl.so.3", &m.file));
	CHECK_OK(dict_mapping(&d, &m, &frame.mapping));
	CHECK_OK(dict_frame(&d, &frame, &id));
	CHECK_STR(frame_module(&d, id), "libssl.so.3");
}

TEST(negative_values_are_not_drawn_and_the_page_says_so)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = &list, .type = -1};
	struct sections s;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &list, -1));
	CHECK_OK(vft_encode(&w, &out));
	s = parse(&out);
	for (uint32_t i = 0; i < s.counts[0] * s.counts[4]; i++)
		CHECK(s.self[i] >= 0);
	CHECK(str_search(s.meta, STR("negative values are not drawn")) < s.meta.n);
	notes_release(&w.notes);
}

TEST(verdicts_stand_beside_the_rows_of_the_table)
{
	static const struct diff_options options = {.type = {1, 1}, .design_effect = 1};
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list before = {0}, after = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(diff_release) struct diff diff = {0};
	struct writing w = {
		.list = &after, .type = -1, .max_nodes = 100, .answer = STR("{\"a\":1}")};
	struct sections s;
	const uint32_t *verdict;
	const double *p_value, *change;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(make_profile(&d, &before, 1));
	CHECK_OK(make_profile(&d, &after, 100));
	CHECK_OK(diff_build(before.v[0], after.v[0], &options, &diff));
	w.baseline = before.v[0];
	w.verdicts = &diff;
	CHECK_OK(vft_encode(&w, &out));
	s = parse(&out);
	CHECK_INT(s.counts[6], 1);
	CHECK(str_search(s.meta, STR("\"answer\":{\"a\":1}")) < s.meta.n);
	s.end = (s.end + 7) / 8 * 8;
	verdict = take(&out, &s.end, s.counts[3] * 4);
	p_value = take(&out, &s.end, s.counts[3] * 8);
	change = take(&out, &s.end, s.counts[3] * 8);
	take(&out, &s.end, s.counts[3] * 8);
	CHECK_INT(s.end, out.n);
	for (uint32_t i = 0; i < s.counts[3]; i++) {
		struct str name = string_at(&s, s.name[s.table_frame[i]]);

		if (str_eq(name, STR("inner"))) {
			CHECK_INT(verdict[i], DIFF_MORE);
			CHECK(p_value[i] < 0.01 && change[i] > 0.6 && change[i] < 0.7);
		}
		if (str_eq(name, STR("main")))
			CHECK_INT(verdict[i], DIFF_NOISE);
	}
	ALLOC_SWEEP((buf_clear(&out), vft_encode(&w, &out)));
	notes_release(&w.notes);
}
