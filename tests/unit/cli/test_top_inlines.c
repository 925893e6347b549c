#include "cli/top_inlines.h"

#include "test.h"

/* Frames by a letter; a capital one is inlined into the next. "aB" would be a leaf that was called.
 */
static enum err add_stack(struct profile *p, const char *letters, int64_t value)
{
	uint32_t frames[16], n = 0;
	struct row row = {0};

	for (; letters[n]; n++) {
		char name[2] = {(char)(letters[n] | 0x20), 0};
		struct function f = {0};
		struct frame frame = {.flags = letters[n] & 0x20 ? 0 : FRAME_INLINED};

		TRY(dict_text(p->dict, name, &f.name));
		TRY(dict_function(p->dict, &f, &frame.function));
		TRY(dict_frame(p->dict, &frame, &frames[n]));
	}
	TRY(dict_stack(p->dict, frames, n, &row.stack));
	return profile_add(p, &row, &value);
}

static int inlining(const struct profile *p, const struct inlines *in, char letter)
{
	for (uint32_t i = 1; i < p->dict->frames.n; i++)
		if (frame_name(p->dict, i).n && frame_name(p->dict, i).p[0] == letter)
			return inlines_of(in, i);
	return -1;
}

TEST(a_function_is_what_the_pairs_it_is_called_in_are)
{
	struct inlines in = {0};
	struct profile p;
	struct dict d;

	CHECK_OK(dict_init(&d, 7));
	profile_init(&p, &d);
	CHECK_OK(profile_add_type(&p, STR("cpu"), STR("count")));
	CHECK_OK(add_stack(&p, "Bam", 5)); /* b inlined into a */
	CHECK_OK(add_stack(&p, "bcm", 5)); /* and called by c: partly */
	CHECK_OK(add_stack(&p, "Eam", 5)); /* e inlined into a … */
	CHECK_OK(add_stack(&p, "eam", 5)); /* … and called by it: not */
	CHECK_OK(add_stack(&p, "Gam", 5)); /* only inlined */
	CHECK_OK(add_stack(&p, "ham", 5));
	CHECK_OK(add_stack(&p, "Ham", 0)); /* without a value: does not count */
	CHECK_OK(inlines_build(&in, &p, 0, false));
	CHECK(inlining(&p, &in, 'b') == (INLINED | NOT_INLINED));
	CHECK(inlining(&p, &in, 'e') == NOT_INLINED);
	CHECK(inlining(&p, &in, 'g') == INLINED);
	CHECK(inlining(&p, &in, 'h') == NOT_INLINED);
	inlines_release(&in);
	profile_release(&p);
	dict_release(&d);
}
