/*
 * The writers for compilers: Go PGO and AutoFDO.
 */
#include "text_test.h"

#include "format/formats_internal.h"

/* One frame to make: a name, its first line, the line, and whether it is inlined. */
struct place {
	const char *name, *system_name;
	int64_t start_line, line;
	bool inlined;
};

static enum err add_stack(struct loaded *l, struct profile *p, const struct place *places,
			  uint32_t n, const int64_t *values)
{
	uint32_t frames[100];
	struct row row = {0};

	for (uint32_t i = 0; i < n; i++) {
		struct function function = {.start_line = places[i].start_line};
		struct frame frame = {
			.line = places[i].line,
			.address = 0x1000 + i,
			.flags = FRAME_HAS_LINE | (places[i].inlined ? FRAME_INLINED : 0),
		};

		TRY(dict_text(&l->dict, places[i].name, &function.name));
		if (places[i].system_name)
			TRY(dict_text(&l->dict, places[i].system_name, &function.system_name));
		TRY(dict_function(&l->dict, &function, &frame.function));
		TRY(dict_frame(&l->dict, &frame, &frames[i]));
	}
	TRY(dict_stack(&l->dict, frames, n, &row.stack));
	return profile_add(p, &row, values);
}

static enum err begin(struct loaded *l, const char *type, const char *unit, struct profile **ret)
{
	TRY(loaded_init(l));
	TRY(profile_list_add(&l->list, &l->dict, ret));
	return profile_add_type(*ret, str_of(type), str_of(unit));
}

static const struct place leaf = {"leaf", NULL, 10, 12, false};
static const struct place caller = {"caller", NULL, 20, 25, false};
static const struct place nowhere = {"nowhere", NULL, 0, 0, false};

TEST(autofdo_gives_samples_to_leaves_and_calls_to_callers)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, (struct place[]){leaf, caller}, 2, (int64_t[]){7}));
	CHECK_OK(add_stack(&l, p, (struct place[]){caller}, 1, (int64_t[]){2}));
	CHECK_OK(store(&l, autofdo_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "leaf:7:7\n 2: 7\ncaller:2:0\n 5: 2 leaf:7\n");
}

TEST(autofdo_nests_inlined_functions_by_their_linkage_names)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	const struct place inner = {"ns::inner(int)", "_ZN2ns5innerEi", 3, 4, true};
	const struct place middle = {"middle", NULL, 30, 33, true};
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, (struct place[]){inner, middle, caller}, 3, (int64_t[]){9}));
	CHECK_OK(store(&l, autofdo_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "caller:9:0\n 5: middle:9\n  3: _ZN2ns5innerEi:9\n   1: 9\n");
}

TEST(autofdo_leaves_out_frames_without_a_place_and_says_so)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct profile *p;
	struct writing w = {.list = &l.list, .type = -1};

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, (struct place[]){leaf, nowhere}, 2, (int64_t[]){7}));
	CHECK_OK(autofdo_write(&w, &out));
	CHECK(noted(&w.notes, "1 of 2 frames"));
	notes_release(&w.notes);
	CHECK_STR(buf_view(&out), "leaf:7:7\n 2: 7\n");
}

TEST(autofdo_refuses_a_profile_without_first_lines)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, (struct place[]){nowhere}, 1, (int64_t[]){7}));
	CHECK_ERR(store(&l, autofdo_write, 0, -1, &out), ERR_UNSUPPORTED);
	CHECK_INT(out.n, 0);
}

TEST(autofdo_counts_lines_in_16_bits_and_keeps_names_in_one_word)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	const struct place before = {"a b\nc", NULL, 10, 8, false};
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, &before, 1, (int64_t[]){1}));
	CHECK_OK(store(&l, autofdo_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "a_b_c:1:0\n 65534: 1\n");
}

TEST(autofdo_sums_stop_at_the_largest_number)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, &leaf, 1, (int64_t[]){INT64_MAX}));
	CHECK_OK(add_stack(&l, p, &leaf, 1, (int64_t[]){5}));
	CHECK_OK(add_stack(&l, p, &leaf, 1, (int64_t[]){-5}));
	CHECK_OK(store(&l, autofdo_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "leaf:9223372036854775807:0\n 2: 9223372036854775807\n");
}

TEST(a_long_run_of_inlined_frames_is_left_out_of_autofdo)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct place places[100];
	struct profile *p;

	for (int i = 0; i < 100; i++)
		places[i] = (struct place){"f", NULL, 1, 2 + i, i < 99};
	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, places, 100, (int64_t[]){1}));
	CHECK_OK(add_stack(&l, p, &leaf, 1, (int64_t[]){1}));
	CHECK_OK(store(&l, autofdo_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "leaf:1:0\n 2: 1\n");
}

/* Writes profile 0 with `write` and reads the bytes again as pprof. */
static enum err again(struct loaded *l, text_writer *write, struct loaded *ret)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);

	TRY(store(l, write, 0, -1, &bytes));
	TRY(loaded_init(ret));
	return format_read(buf_view(&bytes), &formats[FORMAT_PPROF], &ret->reading, NULL);
}

/* Addresses tell the calls of a recursion apart. */
TEST(pgo_keeps_lines_and_addresses_and_drops_labels)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(loaded_release) struct loaded m = {0};
	const struct place inlined = {"inlined", NULL, 3, 4, true};
	const uint32_t *frames;
	uint32_t n, label;
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(add_stack(&l, p, (struct place[]){inlined, leaf, caller}, 3, (int64_t[]){1, 10}));
	CHECK_OK(add_stack(&l, p, (struct place[]){inlined, leaf, caller}, 3, (int64_t[]){2, 20}));
	CHECK_OK(dict_label_text(&l.dict, STR("k"), STR("v"), &label));
	CHECK_OK(dict_label_set(&l.dict, &label, 1, &p->labels[1]));
	CHECK_OK(again(&l, pgo_write, &m));
	p = m.list.v[0];
	CHECK_INT(p->type_count, 1);
	CHECK_STR(dict_str(&m.dict, p->types[0].type), "samples");
	CHECK_INT(p->row_count, 1);
	CHECK_INT(p->values[0], 3);
	CHECK_INT(p->labels[0], 0);
	frames = stack_frames(&m.dict, p->stack[0], &n);
	CHECK_INT(n, 3);
	for (uint32_t i = 0; i < n; i++)
		CHECK(m.dict.frames.v[frames[i]].address != 0);
	CHECK_STR(frame_name(&m.dict, frames[2]), "caller");
	CHECK_INT(m.dict.frames.v[frames[2]].line, 25);
	CHECK_INT(m.dict.functions.v[m.dict.frames.v[frames[2]].function].start_line, 20);
}

TEST(pgo_refuses_what_the_go_compiler_would)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(loaded_release) struct loaded m = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	struct profile *p;

	CHECK_OK(begin(&l, "samples", "count", &p));
	CHECK_OK(add_stack(&l, p, (struct place[]){nowhere, nowhere}, 2, (int64_t[]){7}));
	CHECK_ERR(store(&l, pgo_write, 0, -1, &out), ERR_UNSUPPORTED);
	CHECK_OK(begin(&m, "alloc_space", "bytes", &p));
	CHECK_OK(add_stack(&m, p, (struct place[]){leaf, caller}, 2, (int64_t[]){7}));
	CHECK_ERR(store(&m, pgo_write, 0, -1, &out), ERR_UNSUPPORTED);
	CHECK_INT(out.n, 0);
}

static enum err write_with(text_writer *write)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
	const struct place inlined = {"inlined", NULL, 3, 4, true};
	struct profile *p;

	TRY(begin(&l, "samples", "count", &p));
	TRY(add_stack(&l, p, (struct place[]){inlined, leaf, caller}, 3, (int64_t[]){1}));
	return store(&l, write, 0, -1, &out);
}

TEST(writing_for_compilers_survives_any_allocation_failing)
{
	ALLOC_SWEEP(write_with(autofdo_write));
	ALLOC_SWEEP(write_with(pgo_write));
}
