#include "test.h"

#include "base/vec.h"
#include "format/protobuf.h"

#define COUNT 5000

static uint64_t state;

static uint64_t rnd(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Numbers of all lengths, the short ones more often. */
static uint64_t some_number(unsigned bits)
{
	return (rnd() << 31 | rnd()) & (((uint64_t)1 << rnd() % (bits + 1)) - 1);
}

TEST(a_run_read_at_once_is_the_run_read_one_by_one)
{
	/* Every length twice: once without the widest way the processor has. */
	for (unsigned round = 2; round < 80; round++) {
		CLEANUP(buf_release) struct buf run = BUF_INIT(1 << 20);
		static uint64_t want[COUNT];
		const uint8_t *p, *end;
		unsigned bits = round / 2;
		size_t n = 0;

		pb_run_narrow = round & 1;
		state = bits;
		for (size_t i = 0; i < COUNT; i++)
			pb_put_varint(&run, want[i] = some_number(bits));
		CHECK_OK(buf_error(&run));
		p = (const uint8_t *)run.data;
		end = p + run.n;
		while (p < end) {
			uint32_t got[100];
			size_t count = pb_small_varints(&p, end, end, got, 100);
			uint64_t value;

			CHECK(count <= 100 && n + count <= COUNT);
			for (size_t i = 0; i < count; i++)
				CHECK_INT(got[i], want[n + i]);
			n += count;
			if (count)
				continue;
			/* Too long, or near the end: one at a time. */
			CHECK(pb_varint(&p, end, &value));
			CHECK_INT(value, want[n++]);
		}
		CHECK_INT(n, COUNT);
	}
	pb_run_narrow = false;
}

TEST(a_run_ends_where_its_field_ends)
{
	uint8_t bytes[200];
	uint32_t got[PB_RUN_SLACK];
	const uint8_t *p = bytes;

	memset(bytes, 0x81, sizeof(bytes));
	bytes[0] = 5;
	bytes[2] = 1; /* 0x81 0x01 */
	/* The third number goes on behind the field. */
	CHECK_INT(pb_small_varints(&p, bytes + 5, bytes + 200, got, PB_RUN_SLACK), 2);
	CHECK(p == bytes + 3);
	CHECK_INT(got[0], 5);
	CHECK_INT(got[1], 0x81);
	CHECK_INT(pb_small_varints(&p, bytes + 5, bytes + 200, got, PB_RUN_SLACK), 0);
	CHECK_INT(pb_small_varints(&p, bytes + 200, bytes + 200, got, PB_RUN_SLACK), 0);
	CHECK(p == bytes + 3);
}

TEST(a_list_written_at_once_is_the_list_written_one_by_one)
{
	for (unsigned bits = 1; bits <= 32; bits++) {
		CLEANUP(buf_release) struct buf one = BUF_INIT(1 << 20);
		CLEANUP(buf_release) struct buf all = BUF_INIT(1 << 20);
		static uint32_t list[COUNT];
		size_t n = bits == 1 ? 0 : rnd() % COUNT, mark;

		state = bits;
		mark = pb_begin(&one, 3);
		for (size_t i = 0; i < n; i++)
			pb_put_varint(&one, list[i] = (uint32_t)some_number(bits));
		pb_end(&one, mark);
		pb_put_packed(&all, 3, list, n);
		CHECK_OK(buf_error(&all));
		CHECK_INT(all.n, one.n);
		CHECK(memcmp(all.data, one.data, one.n + 1) == 0);
	}
}

TEST(a_list_does_not_exceed_the_ceiling)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);
	uint32_t list[100] = {0};

	pb_put_packed(&b, 1, list, 98);
	CHECK_OK(buf_error(&b));
	CHECK_INT(b.n, 100);
	buf_clear(&b);
	pb_put_packed(&b, 1, list, 99);
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
}

/* Three messages into each other, with a guess of their size. */
static void put_nested(struct buf *b, size_t n, size_t guess)
{
	size_t outer = pb_begin_about(b, 2, guess), inner = pb_begin_about(b, 1, guess / 2);

	for (size_t i = 0; i < n; i++)
		buf_byte(b, (unsigned char)i);
	pb_end_about(b, inner, guess / 2);
	pb_put_uint(b, 7, 12345);
	pb_end_about(b, outer, guess);
}

TEST(a_wrong_guess_of_a_length_changes_nothing)
{
	static const size_t sizes[] = {0, 1, 100, 127, 128, 1000, 16383, 16384, 70000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CLEANUP(buf_release) struct buf plain = BUF_INIT(1 << 20);
		size_t outer = pb_begin(&plain, 2), inner = pb_begin(&plain, 1);

		for (size_t k = 0; k < sizes[i]; k++)
			buf_byte(&plain, (unsigned char)k);
		pb_end(&plain, inner);
		pb_put_uint(&plain, 7, 12345);
		pb_end(&plain, outer);
		for (size_t guess = 0; guess < (size_t)1 << 40; guess = guess * 5 + 1) {
			CLEANUP(buf_release) struct buf guessed = BUF_INIT(1 << 20);

			put_nested(&guessed, sizes[i], guess);
			CHECK_OK(buf_error(&guessed));
			CHECK_INT(guessed.n, plain.n);
			CHECK(memcmp(guessed.data, plain.data, plain.n + 1) == 0);
		}
	}
}

TEST(numbers_made_ready_are_the_list_written_one_by_one)
{
	static const size_t lengths[] = {1, 42, 47, 48, 60, 127, 128, 5999, 6000, 9000};

	for (unsigned bits = 1; bits < 32; bits += 5) {
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			CLEANUP(buf_release) struct buf ready = BUF_INIT(1 << 20);
			CLEANUP(buf_release) struct buf plain = BUF_INIT(1 << 20);
			char *at = pb_list_begin(&ready, 3, lengths[k]);
			size_t mark = pb_begin(&plain, 3);

			state = bits;
			for (size_t i = 0; at && i < lengths[k]; i++) {
				uint32_t number = (uint32_t)some_number(bits);
				uint32_t coded = pb_coded(number);

				at = coded == PB_CODED_LONG ? pb_raw_varint(at, number)
							    : pb_list_put(at, coded);
				pb_put_varint(&plain, number);
			}
			CHECK(at);
			pb_list_end(&ready, lengths[k], at);
			pb_end(&plain, mark);
			CHECK_OK(buf_error(&plain));
			CHECK_INT(ready.n, plain.n);
			CHECK(memcmp(ready.data, plain.data, plain.n + 1) == 0);
		}
	}
}

TEST(fields_alike_are_skipped_up_to_one_that_is_not)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	static char text[1 << 14]; /* a length of three bytes */
	struct pb c;

	for (size_t i = 0; i < 50; i++)
		pb_put_bytes(&b, 2, str_n(text, i));
	pb_put_bytes(&b, 2, str_n(text, 200));
	pb_put_bytes(&b, 2, str_n(text, sizeof(text)));
	pb_put_bytes(&b, 2, str_n(text, 3));
	pb_put_uint(&b, 3, 1);
	CHECK_OK(buf_error(&b));
	c = pb_of(buf_view(&b));
	CHECK_INT(pb_skip_alike(&c), 0);
	CHECK(pb_next(&c));
	CHECK_INT(pb_skip_alike(&c), 50);
	CHECK_INT(c.bytes.n, 200);
	CHECK(pb_next(&c));
	CHECK_INT(c.bytes.n, sizeof(text));
	CHECK_INT(pb_skip_alike(&c), 1);
	CHECK(pb_next(&c));
	CHECK_INT(c.field, 3);
	CHECK_INT(pb_skip_alike(&c), 0);
	CHECK(!pb_next(&c) && !c.failed);
	/* Cut in the middle of one: left to pb_next. */
	c = pb_of(str_n(b.data, 6));
	CHECK(pb_next(&c));
	CHECK_INT(pb_skip_alike(&c), 1);
	CHECK(!pb_next(&c) && c.failed);
}
