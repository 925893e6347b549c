/*
 * A stack has one identity, however a file numbers its locations and whichever way it is decoded:
 * by content hash from a packed run of ids, or id by id and frame by frame.
 */
#include "../test.h"

#include "format/pprof.h"

#define LOCATIONS 20000 /* ids of one, two and three bytes */
#define STACKS	  120
#define FUNCTIONS 50

enum numbering { FORWARD, BACKWARD, SPARSE };
enum packing { PACKED, IN_TWO_RUNS, ONE_BY_ONE };

static uint64_t id_of(uint64_t key, enum numbering numbering)
{
	if (numbering == SPARSE)
		return 1000000 + key * 977;
	return numbering == FORWARD ? key + 1 : LOCATIONS - key;
}

static void put_location(struct buf *b, uint64_t key, enum numbering numbering)
{
	size_t mark = pb_begin(b, PPROF_LOCATION);

	pb_put_uint(b, PPROF_LOCATION_ID, id_of(key, numbering));
	pb_put_uint(b, PPROF_LOCATION_MAPPING, 1);
	pb_put_uint(b, PPROF_LOCATION_ADDRESS, 0x1000 + key);
	/* Every 50th has inlined functions, every 70th no line at all. */
	for (uint64_t line = key % 70 ? 0 : 3; line < (key % 50 ? 1 : 3); line++) {
		size_t inner = pb_begin(b, PPROF_LOCATION_LINE);

		pb_put_uint(b, PPROF_LINE_FUNCTION, 1 + (key + line) % FUNCTIONS);
		pb_put_uint(b, PPROF_LINE_LINE, key * 3 + line);
		pb_end(b, inner);
	}
	pb_end(b, mark);
}

/* Depths from 1 to 1,400 ids, some of the simple locations alone and some of all of them. */
static uint64_t key_in_stack(unsigned stack, unsigned position)
{
	uint64_t spread[] = {100, 16000, LOCATIONS};
	uint64_t r = (stack * 7919u + position) * 0x9e3779b97f4a7c15u >> 20;
	uint64_t key = r % spread[stack % 3];

	return stack % 2 || (key % 50 && key % 70) ? key : key + 1;
}

static unsigned depth_of(unsigned stack)
{
	return stack < 100 ? stack + 1 : 1400 - stack;
}

static void put_run(struct buf *b, unsigned stack, unsigned first, unsigned end,
		    enum numbering numbering)
{
	size_t mark = pb_begin(b, PPROF_SAMPLE_LOCATION);

	for (unsigned i = first; i < end; i++)
		pb_put_varint(b, id_of(key_in_stack(stack, i), numbering));
	pb_end(b, mark);
}

static void put_sample(struct buf *b, unsigned stack, enum numbering numbering, enum packing how)
{
	unsigned depth = depth_of(stack);
	size_t mark = pb_begin(b, PPROF_SAMPLE);

	if (how == PACKED)
		put_run(b, stack, 0, depth, numbering);
	if (how == IN_TWO_RUNS) {
		put_run(b, stack, 0, depth / 2, numbering);
		put_run(b, stack, depth / 2, depth, numbering);
	}
	for (unsigned i = 0; how == ONE_BY_ONE && i < depth; i++)
		pb_put_uint(b, PPROF_SAMPLE_LOCATION, id_of(key_in_stack(stack, i), numbering));
	pb_put_uint(b, PPROF_SAMPLE_VALUE, stack + 1);
	pb_end(b, mark);
}

static void put_numbers(struct buf *b, uint32_t field, uint64_t first, uint64_t second)
{
	size_t mark = pb_begin(b, field);

	pb_put_uint(b, 1, first);
	pb_put_uint(b, 2, second);
	pb_end(b, mark);
}

static void put_file(struct buf *b, enum numbering numbering, enum packing how)
{
	char name[32];

	put_numbers(b, PPROF_SAMPLE_TYPE, 1, 2);
	for (unsigned i = 0; i < STACKS; i++)
		put_sample(b, i, numbering, how);
	put_numbers(b, PPROF_MAPPING, 1, 0x1000);
	for (uint64_t key = 0; key < LOCATIONS; key++)
		put_location(b, numbering == BACKWARD ? LOCATIONS - 1 - key : key, numbering);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		put_numbers(b, PPROF_FUNCTION, i + 1, 3 + i);
	pb_put_bytes(b, PPROF_STRING_TABLE, STR(""));
	pb_put_bytes(b, PPROF_STRING_TABLE, STR("samples"));
	pb_put_bytes(b, PPROF_STRING_TABLE, STR("count"));
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function%u", i);
		pb_put_bytes(b, PPROF_STRING_TABLE, str_of(name));
	}
}

static enum err read_into(struct dict *d, struct profile_list *list, enum numbering numbering,
			  enum packing how)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 << 20);
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};
	enum err e;

	put_file(&b, numbering, how);
	e = format_read(buf_view(&b), &formats[FORMAT_PPROF], &r, NULL);
	notes_release(&r.notes);
	return e;
}

TEST(stacks_are_the_same_under_any_numbering_and_packing)
{
	struct profile_list list = {0};
	struct dict d;
	size_t stacks = 0, frames = 0;

	CHECK_OK(dict_init(&d, 42));
	for (unsigned numbering = FORWARD; numbering <= SPARSE; numbering++)
		for (unsigned how = PACKED; how <= ONE_BY_ONE; how++) {
			CHECK_OK(read_into(&d, &list, numbering, how));
			/* The first file brings all there is. */
			if (list.n == 1) {
				stacks = d.stacks.entries.n;
				frames = d.frames.n;
			}
			CHECK_INT(d.stacks.entries.n, stacks);
			CHECK_INT(d.frames.n, frames);
			CHECK_INT(list.v[list.n - 1]->row_count, STACKS);
			for (unsigned i = 0; i < STACKS; i++)
				CHECK_INT(list.v[list.n - 1]->stack[i], list.v[0]->stack[i]);
		}
	CHECK(stacks > STACKS * 9 / 10);
	profile_list_release(&list);
	dict_release(&d);
}

TEST(a_stack_has_the_frames_of_its_locations)
{
	struct profile_list list = {0};
	struct dict d;

	CHECK_OK(dict_init(&d, 42));
	CHECK_OK(read_into(&d, &list, BACKWARD, PACKED));
	for (unsigned i = 0; i < STACKS; i++) {
		uint32_t n, at = 0;
		const uint32_t *frames = stack_frames(&d, list.v[0]->stack[i], &n);

		for (unsigned k = 0; k < depth_of(i) && at < n; k++) {
			uint64_t key = key_in_stack(i, k);

			CHECK_INT(d.frames.v[frames[at]].address, 0x1000 + key);
			at += key % 70 == 0 || key % 50 ? 1 : 3;
		}
		CHECK_INT(at, n);
	}
	profile_list_release(&list);
	dict_release(&d);
}
