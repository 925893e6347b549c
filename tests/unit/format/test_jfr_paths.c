/*
 * The ways of the JFR reader that are there for speed: what is recognised by its bytes, left out
 * because nobody asks for it, or read by several threads must be what the slow way gives.
 */
#include "../test.h"

#include "format/format.h"
#include "jfr_build.h"

#define TYPES	   jfr_test_types
#define TYPE_COUNT (sizeof(jfr_test_types) / sizeof(jfr_test_types[0]))

struct read {
	struct dict d;
	struct profile_list list;
	struct reading r;
};

static void read_release(struct read *x)
{
	profile_list_release(&x->list);
	notes_release(&x->r.notes);
	dict_release(&x->d);
}

static enum err read_recording(struct read *x, const struct jfr_build *b, bool first_type_only)
{
	*x = (struct read){.r.limits = LIMITS_DEFAULT, .r.first_type_only = first_type_only};
	x->r.dict = &x->d;
	x->r.list = &x->list;
	TRY(dict_init(&x->d, 1));
	return format_read(buf_view(&b->out), &formats[FORMAT_JFR], &x->r, NULL);
}

/* Stack 1 has `frames`, with the keys of the methods in turn. */
static void put_long_stack(struct jfr_build *b, const uint64_t *methods, unsigned n, int frames)
{
	checkpoint_begin(b, 0, 4);
	pool_begin(b, T_SYMBOL, 3);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const symbols[] = {"a/B", "one", "()V"};

		put_long(b, i + 1);
		put_string(b, symbols[i]);
	}
	pool_begin(b, T_CLASS, 1);
	put_long(b, 1);
	put_long(b, 1);
	pool_begin(b, T_METHOD, (int)n);
	for (unsigned i = 0; i < n; i++) {
		put_long(b, methods[i]);
		put_long(b, 1);
		put_long(b, 2);
		put_long(b, 3);
		put_byte(b, 0);
	}
	/* The second one shows that the end of the first was found, the third is the first again.
	 */
	pool_begin(b, T_STACK, 3);
	for (unsigned stack = 1; stack <= 3; stack++) {
		int n_frames = stack == 2 ? 1 : frames;

		put_long(b, stack);
		put_byte(b, 0);
		put_int(b, n_frames);
		for (int i = 0; i < n_frames; i++) {
			put_long(b, methods[(unsigned)i % n]);
			put_int(b, stack == 2 ? 7 : i * 37);
			put_long(b, (unsigned)i % 3 ? 1 : UINT64_MAX);
		}
	}
	event_end(b);
}

TEST(frames_of_any_length_are_read_and_skipped)
{
	static const uint64_t methods[] = {1,
					   0x7f,
					   0x80,
					   0x3fff,
					   (uint64_t)1 << 20,
					   (uint64_t)1 << 34,
					   (uint64_t)1 << 55,
					   (uint64_t)1 << 56,
					   UINT64_MAX,
					   UINT64_MAX - 127};

	for (int frames = 0; frames < 45; frames++) {
		CLEANUP(jfr_build_release) struct jfr_build b = {0};
		CLEANUP(read_release) struct read x;
		const uint32_t *ids;
		uint32_t n;

		chunk_begin(&b);
		put_sample(&b, 1500, 5, 2);
		put_sample(&b, 1500, 5, 1);
		put_sample(&b, 1500, 5, 3);
		put_long_stack(&b, methods, sizeof(methods) / sizeof(methods[0]), frames);
		put_metadata(&b, TYPES, TYPE_COUNT);
		chunk_end(&b);
		CHECK_OK(read_recording(&x, &b, false));
		CHECK_INT(x.list.v[0]->row_count, 3);
		CHECK_INT(x.list.v[0]->stack[2], x.list.v[0]->stack[1]);
		ids = stack_frames(&x.d, x.list.v[0]->stack[1], &n);
		CHECK_INT(n, (uint32_t)frames);
		for (uint32_t i = 0; i < n; i++) {
			CHECK_STR(frame_name(&x.d, ids[i]), "a.B.one");
			CHECK_INT(x.d.frames.v[ids[i]].line, i * 37);
		}
		ids = stack_frames(&x.d, x.list.v[0]->stack[0], &n);
		CHECK_INT(n, 1);
		CHECK_INT(x.d.frames.v[ids[0]].line, 7);
	}
}

TEST(stack_that_ends_with_its_checkpoint_is_cut_nowhere_else)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	/* Eight bytes that all go on, and then nothing more of the pool. */
	chunk_begin(&b);
	put_sample(&b, 1500, 5, 1);
	checkpoint_begin(&b, 0, 1);
	pool_begin(&b, T_STACK, 1);
	put_long(&b, 1);
	put_byte(&b, 0);
	put_int(&b, 3);
	for (unsigned i = 0; i < 8; i++)
		put_byte(&b, 0xff);
	event_end(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_ERR(read_recording(&x, &b, false), ERR_CORRUPT);
	CHECK(strstr(x.r.fault.text, "checkpoint"));
}

static void put_chunk(struct jfr_build *b, unsigned samples, unsigned waits)
{
	chunk_begin(b);
	put_setting(b, T_EXECUTION, "period", "10 ms");
	while (samples--)
		put_sample(b, 1500, 5, 1 + samples % 2);
	while (waits--)
		put_wait(b, 3);
	put_test_pools(b);
	put_metadata(b, TYPES, TYPE_COUNT);
	chunk_end(b);
}

TEST(only_what_is_shown_first_is_read_when_that_is_asked_for)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read all;
	CLEANUP(read_release) struct read first;

	put_chunk(&b, 3, 2);
	put_chunk(&b, 2, 1);
	CHECK_OK(read_recording(&all, &b, false));
	CHECK_OK(read_recording(&first, &b, true));
	CHECK_INT(all.list.n, 2);
	CHECK_INT(first.list.n, 1);
	CHECK_STR(dict_str(&first.d, first.list.v[0]->types[1].type), "cpu");
	CHECK_INT(first.list.v[0]->row_count, 5);
	CHECK_INT(profile_total(first.list.v[0], 1), profile_total(all.list.v[0], 1));
	CHECK_INT(first.list.v[0]->duration_ns, all.list.v[0]->duration_ns);
}

TEST(what_is_shown_first_may_come_late)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b, 0, 2);
	put_chunk(&b, 4, 1);
	put_chunk(&b, 0, 1);
	CHECK_OK(read_recording(&x, &b, true));
	CHECK_INT(x.list.n, 1);
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].type), "cpu");
	CHECK_INT(x.list.v[0]->row_count, 4);
}

TEST(recording_without_samples_of_a_timer_is_read_whole)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b, 0, 2);
	CHECK_OK(read_recording(&x, &b, true));
	CHECK_INT(x.list.n, 1);
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].type), "delay");
	CHECK_INT(x.list.v[0]->row_count, 2);
}
