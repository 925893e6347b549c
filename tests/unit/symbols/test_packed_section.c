#include <libdeflate.h>

#include "base/buf.h"
#include "symbols/packed_section.h"
#include "test.h"

#define SIZE ((size_t)6 << 20)

static uint64_t random_state = 1;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

/* Words that repeat, near and far, so that compressed data refers to earlier data. */
static char *make_bytes(void)
{
	char *bytes = mem_alloc(SIZE);

	for (size_t i = 0; bytes && i < SIZE;) {
		size_t n = 1 + draw(40), back = 1 + draw(i < 30000 ? i + 1 : 30000);

		for (size_t k = 0; k < n && i < SIZE; k++, i++)
			bytes[i] = i >= back && draw(10) ? bytes[i - back] : (char)draw(256);
	}
	return bytes;
}

static enum err pack(const char *bytes, struct buf *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	size_t bound = c ? libdeflate_zlib_compress_bound(c, SIZE) : 0;
	char *to = c ? buf_reserve(out, bound) : NULL;

	if (to)
		out->n = libdeflate_zlib_compress(c, bytes, SIZE, to, bound);
	libdeflate_free_compressor(c);
	return to && out->n ? ERR_OK : ERR_NO_MEMORY;
}

struct world {
	char *bytes;
	struct buf packed;
};

static void world_release(struct world *w)
{
	mem_free(w->bytes);
	buf_release(&w->packed);
}

static enum err world_init(struct world *w)
{
	*w = (struct world){.bytes = make_bytes(), .packed = BUF_INIT(2 * SIZE)};
	return w->bytes ? pack(w->bytes, &w->packed) : ERR_NO_MEMORY;
}

static bool holds(const struct packed_section *p, const struct world *w, size_t from, size_t to)
{
	struct str here = packed_section_bytes(p);

	return here.n == SIZE && !memcmp(here.p + from, w->bytes + from, to - from);
}

TEST(pieces_are_what_was_packed_wherever_they_lie)
{
	CLEANUP(world_release) struct world w;
	struct packed_section *p;

	CHECK_OK(world_init(&w));
	CHECK_OK(packed_section_new(buf_view(&w.packed), SIZE, &p));
	for (int i = 0; i < 300; i++) {
		size_t from = draw(SIZE),
		       to = from + 1 + draw(SIZE - from < 5000 ? SIZE - from : 5000);

		CHECK_OK(packed_section_need(p, from, to));
		CHECK(holds(p, &w, from, to));
		if (!draw(5))
			packed_section_trim(p, draw(100000));
		if (!draw(20))
			packed_section_drop(p);
	}
	/* Requests beyond the end are ignored. */
	CHECK_OK(packed_section_need(p, SIZE - 10, UINT64_MAX));
	CHECK_OK(packed_section_need(p, SIZE + 10, UINT64_MAX));
	CHECK(holds(p, &w, SIZE - 10, SIZE));
	packed_section_free(p);
}

/* A sequential pass, as when units are listed, decompresses each byte once. */
TEST(a_pass_in_order_keeps_little)
{
	CLEANUP(world_release) struct world w;
	struct packed_section *p;
	size_t most = 0;

	CHECK_OK(world_init(&w));
	CHECK_OK(packed_section_new(buf_view(&w.packed), SIZE, &p));
	for (size_t at = 0; at < SIZE; at += 3000) {
		size_t end = at + 3000 < SIZE ? at + 3000 : SIZE;

		packed_section_trim(p, (size_t)1 << 20);
		CHECK_OK(packed_section_need(p, at, at + 32));
		CHECK_OK(packed_section_need(p, at, end));
		CHECK(holds(p, &w, at, end));
		most = packed_section_memory(p) > most ? packed_section_memory(p) : most;
	}
	CHECK(most > 0 && most < (size_t)3 << 19);
	packed_section_drop(p);
	CHECK(packed_section_memory(p) < (size_t)1 << 19);
	packed_section_free(p);
}

/* After many random accesses the section is decompressed as a whole, until it is dropped. */
TEST(a_section_that_is_wanted_everywhere_is_unpacked_as_a_whole)
{
	CLEANUP(world_release) struct world w;
	struct packed_section *p;

	CHECK_OK(world_init(&w));
	CHECK_OK(packed_section_new(buf_view(&w.packed), SIZE, &p));
	for (int i = 0; i < 2000; i++) {
		size_t from = draw(SIZE - 100);

		packed_section_trim(p, 0);
		CHECK_OK(packed_section_need(p, from, from + 100));
		CHECK(holds(p, &w, from, from + 100));
	}
	CHECK(packed_section_memory(p) >= SIZE && holds(p, &w, 0, SIZE));
	packed_section_drop(p);
	CHECK(packed_section_memory(p) < (size_t)1 << 19);
	CHECK_OK(packed_section_need(p, SIZE / 2, SIZE / 2 + 100));
	CHECK(holds(p, &w, SIZE / 2, SIZE / 2 + 100));
	packed_section_free(p);
}

TEST(damaged_bytes_give_zeros_or_nonsense_and_end)
{
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	for (int i = 0; i < 30; i++) {
		struct packed_section *p;
		struct str packed = buf_view(&w.packed);

		if (i % 3)
			w.packed.data[draw(packed.n)] ^= (char)(1 << draw(8));
		else
			packed.n = draw(i ? packed.n : 3);
		CHECK_OK(packed_section_new(packed, SIZE, &p));
		for (int k = 0; k < 5; k++) {
			size_t from = draw(SIZE);

			CHECK_OK(packed_section_need(p, from, from + draw(100000)));
		}
		CHECK_OK(packed_section_need(p, 0, SIZE));
		packed_section_free(p);
	}
}

static enum err read_some(const struct world *w)
{
	struct packed_section *p;
	enum err e;

	TRY(packed_section_new(buf_view(&w->packed), SIZE, &p));
	e = packed_section_need(p, SIZE / 2, SIZE / 2 + 1000);
	if (!e)
		e = packed_section_need(p, 1000, 2000);
	if (!e)
		e = holds(p, w, 1000, 2000) && holds(p, w, SIZE / 2, SIZE / 2 + 1000) ? ERR_OK
										      : ERR_CORRUPT;
	packed_section_free(p);
	return e;
}

TEST(allocation_failure_is_reported)
{
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	ALLOC_SWEEP(read_some(&w));
}
