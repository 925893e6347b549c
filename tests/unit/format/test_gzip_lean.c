/* What the library compresses is what libdeflate unpacks, whatever it was. */
#include "test.h"

#include <libdeflate.h>

#include "base/alloc.h"
#include "format/code_lengths.h"
#include "format/format.h"

#define MOST ((size_t)1 << 20)

static uint64_t state;

static uint64_t rnd(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Packs and unpacks it; how long it was in between. */
static size_t packed;

static void check(const char *plain, size_t n)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * MOST);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	char *back = mem_alloc(n + 1);
	size_t made = 0;

	CHECK(d && back);
	CHECK_OK(compress_gzip(str_n(plain, n), 6, &out));
	CHECK_INT(libdeflate_gzip_decompress(d, out.data, out.n, back, n + 1, &made),
		  LIBDEFLATE_SUCCESS);
	CHECK_INT(made, n);
	CHECK(n == 0 || !memcmp(back, plain, n));
	mem_free(back);
	libdeflate_free_decompressor(d);
	packed = out.n;
}

TEST(every_length_of_every_kind_comes_back)
{
	char *plain = mem_alloc(MOST);

	for (size_t n = 0; n < 600; n++) {
		for (size_t i = 0; i < n; i++)
			plain[i] = (char)(n % 3 == 0 ? 0 : n % 3 == 1 ? rnd() : rnd() % 3);
		check(plain, n);
	}
	mem_free(plain);
}

TEST(what_repeats_becomes_short_and_what_does_not_hardly_longer)
{
	char *plain = mem_alloc(MOST);

	memset(plain, 7, MOST);
	check(plain, MOST);
	CHECK(packed < MOST / 200);
	for (size_t i = 0; i < MOST; i++)
		plain[i] = (char)rnd();
	check(plain, MOST);
	CHECK(packed < MOST + MOST / 50);
	/* As far apart as matches reach, and a little further. */
	for (size_t apart = 32500; apart < 32800; apart += 37) {
		for (size_t i = apart; i < 4 * apart; i++)
			plain[i] = plain[i - apart];
		check(plain, 4 * apart);
	}
	mem_free(plain);
}

TEST(messages_of_many_small_numbers_are_packed_well)
{
	char *plain = mem_alloc(MOST);

	/* Lengths of matches and distances of all sizes. */
	for (unsigned round = 0; round < 30; round++) {
		size_t n = 0;

		state = round;
		while (n + 300 < MOST / 4) {
			size_t length = rnd() % 270, from = n ? rnd() % n : 0;

			if (rnd() % 4 == 0 && from + length < n)
				memmove(plain + n, plain + from, length);
			else
				for (size_t i = 0; i < length; i++)
					plain[n + i] = (char)(rnd() % (1 + rnd() % 64));
			n += length;
		}
		check(plain, n);
		CHECK(packed < n);
	}
	mem_free(plain);
}

TEST(codes_are_within_their_limit_and_all_room_is_used)
{
	for (unsigned round = 0; round < 200; round++) {
		struct code codes[CODES_MOST] = {0};
		uint32_t n = 2 + (uint32_t)rnd() % (CODES_MOST - 2), longest = 9 + round % 7;
		uint64_t weight = 1, room = 0;

		/* Weights that would make codes of any length. */
		for (uint32_t i = 0; i < n; i++) {
			codes[i].count = (uint32_t)weight;
			weight = weight * (round % 5 ? 1 + rnd() % 2 : 1) % 1000003 + 1;
		}
		codes_make(codes, n, longest);
		for (uint32_t i = 0; i < n; i++) {
			CHECK(codes[i].length >= 1 && codes[i].length <= longest);
			room += 1ull << (longest - codes[i].length);
		}
		CHECK_INT(room, 1ull << longest);
	}
}

static enum err pack(struct str plain)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MOST);

	return compress_gzip(plain, 6, &out);
}

TEST(it_survives_without_memory_and_says_what_is_too_long)
{
	CLEANUP(buf_release) struct buf small = BUF_INIT(16);

	ALLOC_SWEEP(pack(STR("some text, some text, some text")));
	CHECK_INT(compress_gzip(STR("some text"), 6, &small), ERR_TOO_LARGE);
}
