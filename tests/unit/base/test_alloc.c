#include "test.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"

TEST(grow_takes_at_least_half_as_much_again)
{
	CLEANUP(mem_free_ptr) int *array = NULL;
	size_t cap = 0;

	CHECK_OK(mem_grow(&array, &cap, 100, sizeof(int), 1000));
	CHECK_INT(cap, 100);
	CHECK_OK(mem_grow(&array, &cap, 101, sizeof(int), 1000));
	CHECK_INT(cap, 158);
	CHECK_OK(mem_grow(&array, &cap, 50, sizeof(int), 1000));
	CHECK_INT(cap, 158);
}

TEST(grow_stops_at_the_ceiling_and_changes_nothing_beyond)
{
	CLEANUP(mem_free_ptr) int *array = NULL;
	size_t cap = 0;
	int *before;

	CHECK_OK(mem_grow(&array, &cap, 9, sizeof(int), 10));
	CHECK_OK(mem_grow(&array, &cap, 10, sizeof(int), 10));
	CHECK_INT(cap, 10);
	before = array;
	CHECK_ERR(mem_grow(&array, &cap, 11, sizeof(int), 10), ERR_TOO_LARGE);
	CHECK(array == before && cap == 10);
}

TEST(grow_refuses_a_size_that_overflows)
{
	char *array = NULL;
	size_t cap = 0;

	CHECK_ERR(mem_grow(&array, &cap, SIZE_MAX / 2, 4, SIZE_MAX), ERR_TOO_LARGE);
	CHECK_ERR(mem_grow(&array, &cap, SIZE_MAX, SIZE_MAX, SIZE_MAX), ERR_TOO_LARGE);
	CHECK(!array && !cap);
}

TEST(grow_keeps_the_array_when_memory_is_out)
{
	CLEANUP(mem_free_ptr) int *array = NULL;
	size_t cap = 0;
	int *before;

	CHECK_OK(mem_grow(&array, &cap, 8, sizeof(int), 1000));
	before = array;
	array[3] = 7;
	alloc_fail_at(0, false);
	CHECK_ERR(mem_grow(&array, &cap, 500, sizeof(int), 1000), ERR_NO_MEMORY);
	CHECK(alloc_fail_reached());
	CHECK(array == before && cap == 8 && array[3] == 7);
}

TEST(every_allocation_function_can_be_made_to_fail)
{
	alloc_fail_at(0, true);
	CHECK(!mem_alloc(1));
	CHECK(!mem_zalloc(1, 1));
	CHECK(!mem_realloc(NULL, 1));
	CHECK(!mem_strdup("x"));
	CHECK(!mem_strndup("x", 1));
	alloc_fail_off();
	alloc_fail_at(1, false);
	mem_free(mem_alloc(1));
	CHECK(!alloc_fail_reached());
	CHECK(!mem_alloc(1));
	CHECK(alloc_fail_reached());
}

TEST(sizes_of_zero_and_products_that_overflow_are_handled)
{
	CLEANUP(mem_free_ptr) void *none = mem_alloc(0);
	CLEANUP(mem_free_ptr) void *zeroed = mem_zalloc(0, 8);
	size_t huge = SIZE_MAX;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind reports every impossible size");
		return;
	}
	CHECK(none && zeroed);
	__asm__("" : "+r"(huge)); /* or the compiler warns about what is meant here */
	CHECK(!mem_strndup("x", huge));
	CHECK(!mem_zalloc(huge, 2));
}

TEST(strndup_ends_with_a_nul)
{
	CLEANUP(mem_free_ptr) char *s = mem_strndup("flame", 3);
	CLEANUP(mem_free_ptr) char *all = mem_strdup("flame");

	CHECK(s && !strcmp(s, "fla"));
	CHECK(all && !strcmp(all, "flame"));
}

TEST(vec_pushes_appends_and_releases)
{
	VEC(uint16_t) v = {0};
	uint16_t more[] = {3, 4, 5};
	unsigned sum = 0;

	CHECK_OK(vec_push(&v, 1));
	CHECK_OK(vec_push(&v, 2));
	CHECK_OK(vec_append(&v, more, 3));
	CHECK_OK(vec_append(&v, more, 0));
	vec_for_each (item, &v)
		sum += *item;
	CHECK_INT(sum, 15);
	CHECK_INT(v.n, 5);
	vec_release(&v);
	CHECK(!v.v && !v.n && !v.cap);
}

TEST(vec_refuses_counts_that_wrap_or_exceed_32_bits)
{
	VEC(char) v = {0};
	size_t wraps = SIZE_MAX;

	CHECK_OK(vec_push(&v, 'x'));
	CHECK_ERR(vec_reserve(&v, wraps), ERR_TOO_LARGE);
	CHECK_ERR(vec_reserve(&v, VEC_CEILING), ERR_TOO_LARGE);
	CHECK_INT(v.n, 1);
	vec_release(&v);
}

static enum err fill_vec(void)
{
	VEC(int) v = {0};
	enum err e = ERR_OK;
	int three[] = {1, 2, 3};

	for (int i = 0; i < 100 && !e; i++)
		e = vec_push(&v, i);
	if (!e)
		e = vec_append(&v, three, 3);
	vec_release(&v);
	return e;
}

TEST(vec_survives_every_failing_allocation)
{
	ALLOC_SWEEP(fill_vec());
}

TEST(arena_gives_aligned_memory_that_does_not_overlap)
{
	CLEANUP(arena_release) struct arena a = {0};
	char *pieces[200];

	for (size_t i = 0; i < 200; i++) {
		pieces[i] = arena_alloc(&a, i * 17);
		CHECK(pieces[i] && (uintptr_t)pieces[i] % 16 == 0);
		memset(pieces[i], (int)i, i * 17);
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t j = 0; j < i * 17; j++)
			CHECK_INT((unsigned char)pieces[i][j], i);
}

/* The n-th allocation fails; true if there are fewer. */
static bool takes_fewer_allocations(size_t pieces, long n)
{
	CLEANUP(arena_release) struct arena a = {0};
	bool fits = true;

	alloc_fail_at(n, true);
	for (size_t i = 0; fits && i < pieces; i++)
		fits = arena_alloc(&a, 100) != NULL;
	alloc_fail_off();
	return fits;
}

TEST(arena_takes_larger_blocks_the_more_it_holds)
{
	CHECK(takes_fewer_allocations(6, 1));
	CHECK(takes_fewer_allocations(5000, 30));
	CHECK(!takes_fewer_allocations(5000, 10));
}

TEST(arena_refuses_more_than_its_ceiling)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, 100);
	CHECK(!arena_alloc(&a, 101));
	CHECK(arena_alloc(&a, 100));
	CHECK(!arena_alloc(&a, 1));
	CHECK(arena_alloc(&a, 0) || 1);
}

TEST(arena_counts_the_padding_of_small_pieces)
{
	CLEANUP(arena_release) struct arena a;
	int n = 0;

	arena_init(&a, 1600);
	while (n < 10000 && arena_alloc(&a, 1))
		n++;
	CHECK_INT(n, 100);
}

TEST(arena_refuses_sizes_near_the_end_of_the_address_space)
{
	CLEANUP(arena_release) struct arena a = {0};
	size_t size = SIZE_MAX;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind reports every impossible size");
		return;
	}
	for (int i = 0; i < 100; i++)
		CHECK(!arena_alloc(&a, size - (size_t)i));
	CHECK(!arena_zalloc(&a, size / 2, 3));
}

TEST(arena_keeps_its_block_when_a_large_piece_comes_between)
{
	CLEANUP(arena_release) struct arena a = {0};
	char *first = arena_alloc(&a, 8), *large = arena_alloc(&a, 1 << 20), *second;

	CHECK(first && large);
	second = arena_alloc(&a, 8);
	CHECK(second > first && second - first < 128);
	memset(large, 1, 1 << 20);
}

/* The three pieces of a small block lie in it, the fourth and a large one do not. */
TEST(arena_takes_as_little_at_a_time_as_it_was_told)
{
	CLEANUP(arena_release) struct arena a = {.block = 3 * 64};
	char *pieces[5], *large;

	for (int i = 0; i < 5; i++) {
		pieces[i] = arena_alloc(&a, 32);
		CHECK(pieces[i]);
		memset(pieces[i], i, 32);
	}
	large = arena_alloc(&a, 4096);
	CHECK(large);
	memset(large, 9, 4096);
	for (int i = 0; i < 5; i++)
		CHECK(pieces[i][0] == i && pieces[i][31] == i);
	CHECK(malloc_usable_size(a.last) < 1024);
}

TEST(arena_copies_and_prints)
{
	CLEANUP(arena_release) struct arena a = {0};
	char *copy = arena_copy(&a, STR("leaf")), *none = arena_copy(&a, str_n(NULL, 0));
	char *text = arena_printf(&a, "%d frames of %s", 3, "main");
	char *zero = arena_zalloc(&a, 10, 10);

	CHECK(copy && !strcmp(copy, "leaf"));
	CHECK(none && !*none);
	CHECK(text && !strcmp(text, "3 frames of main"));
	for (int i = 0; i < 100; i++)
		CHECK(zero[i] == 0);
}

static enum err fill_arena(void)
{
	CLEANUP(arena_release) struct arena a = {0};

	for (int i = 0; i < 20; i++)
		if (!arena_alloc(&a, 30000) || !arena_zalloc(&a, 3, 5) ||
		    !arena_copy(&a, STR("name")) || !arena_printf(&a, "%d", i))
			return ERR_NO_MEMORY;
	return ERR_OK;
}

TEST(arena_survives_every_failing_allocation)
{
	ALLOC_SWEEP(fill_arena());
}

TEST(release_of_nothing_is_harmless)
{
	struct arena a = {0};

	arena_release(NULL);
	arena_release(&a);
	arena_release(&a);
	mem_free(NULL);
}
