#include "test.h"

#include "base/hash.h"
#include "base/map.h"

#define HASH_EMPTY 0x9557c4a9ef844870u
#define HASH_MAIN  0xc8ee3eb7a45a8214u
#define HASH_LONG  0xed9f3308f46e56edu

TEST(an_empty_map_finds_nothing)
{
	struct map m = {0};
	int seen = 0;

	CHECK(map_get(&m, 1) == MAP_NONE);
	MAP_PROBE(&m, 1, id)
	{
		seen += (int)id + 1;
	}
	CHECK_INT(seen, 0);
	map_prefetch(&m, 1);
	map_clear(&m);
	map_release(&m);
	map_release(NULL);
}

TEST(ids_are_found_after_the_map_has_grown_many_times)
{
	CLEANUP(map_release) struct map m = {0};

	for (uint32_t i = 0; i < 100000; i++)
		CHECK_OK(map_put(&m, hash_mix(i, 5), i));
	for (uint32_t i = 0; i < 100000; i++)
		CHECK_INT(map_get(&m, hash_mix(i, 5)), i);
	CHECK_INT(m.n, 100000);
	CHECK(map_get(&m, 12345) == MAP_NONE);
}

TEST(entries_with_equal_hashes_are_all_probed)
{
	CLEANUP(map_release) struct map m = {0};
	unsigned sum = 0, count = 0;

	for (uint32_t i = 1; i <= 100; i++)
		CHECK_OK(map_put(&m, 42, i));
	CHECK_OK(map_put(&m, 43, 1000));
	MAP_PROBE(&m, 42, id)
	{
		sum += id;
		count++;
	}
	CHECK_INT(sum, 5050);
	CHECK_INT(count, 100);
}

TEST(hashes_that_differ_only_in_high_bits_are_told_apart)
{
	CLEANUP(map_release) struct map m = {0};

	for (uint32_t i = 0; i < 64; i++)
		CHECK_OK(map_put(&m, (uint64_t)i << 58, i));
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(map_get(&m, (uint64_t)i << 58), i);
}

TEST(probing_wraps_at_the_end_of_the_table)
{
	CLEANUP(map_release) struct map m = {0};

	for (uint32_t i = 0; i < 5; i++)
		CHECK_OK(map_put(&m, 15 + 16 * (uint64_t)i, i));
	for (uint32_t i = 0; i < 5; i++)
		CHECK_INT(map_get(&m, 15 + 16 * (uint64_t)i), i);
}

TEST(reserve_leaves_no_growing_for_later)
{
	CLEANUP(map_release) struct map m = {0};
	struct map_slot *slots;

	CHECK_OK(map_reserve(&m, 10000));
	slots = m.slots;
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_OK(map_put(&m, hash_mix(i, 1), i));
	CHECK(m.slots == slots);
	CHECK_OK(map_reserve(&m, 5));
	CHECK(m.slots == slots);
}

TEST(more_entries_than_32_bit_slots_hold_are_refused)
{
	struct map m = {0};

	CHECK_ERR(map_reserve(&m, UINT32_MAX), ERR_TABLE_FULL);
	m.n = UINT32_MAX;
	CHECK_ERR(map_put(&m, 1, 1), ERR_TABLE_FULL);
}

TEST(clear_forgets_entries_and_keeps_memory)
{
	CLEANUP(map_release) struct map m = {0};
	struct map_slot *slots;

	CHECK_OK(map_put(&m, 7, 7));
	slots = m.slots;
	map_clear(&m);
	CHECK(map_get(&m, 7) == MAP_NONE && m.n == 0 && m.slots == slots);
}

TEST(a_failed_put_leaves_the_map_as_it_was)
{
	CLEANUP(map_release) struct map m = {0};
	uint32_t n = 0;

	while (!m.slots || m.n < (m.mask + 1) * 5 / 8) {
		CHECK_OK(map_put(&m, n, n));
		n++;
	}
	alloc_fail_at(0, true);
	CHECK_ERR(map_put(&m, n, n), ERR_NO_MEMORY);
	alloc_fail_off();
	CHECK_INT(m.n, n);
	for (uint32_t i = 0; i < n; i++)
		CHECK_INT(map_get(&m, i), i);
}

static enum err fill_map(void)
{
	CLEANUP(map_release) struct map m = {0};

	TRY(map_reserve(&m, 20));
	for (uint32_t i = 0; i < 1000; i++)
		TRY(map_put(&m, hash_mix(i, 3), i));
	return ERR_OK;
}

TEST(map_survives_every_failing_allocation)
{
	ALLOC_SWEEP(fill_map());
}

TEST(hash_depends_on_every_byte_on_length_and_on_seed)
{
	char bytes[100] = {0};

	for (size_t n = 0; n < sizeof(bytes); n++) {
		uint64_t plain = hash_bytes(bytes, n, 1);

		CHECK(plain != hash_bytes(bytes, n, 2));
		CHECK(plain != hash_bytes(bytes, n + 1, 1));
		for (size_t i = 0; i < n; i++) {
			bytes[i] = 1;
			CHECK(plain != hash_bytes(bytes, n, 1));
			bytes[i] = 0;
		}
	}
}

/* Sixteen bytes that end in a constant of the hash made every product 0 once, under any seed. */
TEST(inputs_that_hold_the_hashs_own_constants_do_not_collide)
{
	static const uint64_t constants[] = {HASH_K1, HASH_K2, HASH_K1 ^ HASH_K2, 0};

	for (size_t c = 0; c < 4; c++)
		for (size_t place = 0; place < 4; place++) {
			uint64_t one[4] = {1, 2, 3, 4}, other[4] = {5, 6, 7, 8};

			one[place] = other[place] = constants[c];
			for (size_t n = 8 * (place + 1); n <= sizeof(one); n += 8)
				if (memcmp(one, other, n))
					CHECK(hash_bytes(one, n, 99) != hash_bytes(other, n, 99));
		}
}

TEST(hash_is_the_same_on_every_machine_and_in_every_version)
{
	/* Identities are stored: a change of these numbers is a change of the file format. */
	CHECK(hash_bytes("", 0, 0) == HASH_EMPTY);
	CHECK(hash_str(STR("main"), 0) == HASH_MAIN);
	CHECK(hash_str(STR("a name of more than sixteen bytes"), 7) == HASH_LONG);
}

TEST(low_bits_of_the_hash_spread_over_a_table)
{
	unsigned used[1024] = {0}, most = 0;
	char name[32];

	for (int i = 0; i < 10240; i++) {
		int n = snprintf(name, sizeof(name), "function_%d", i);
		unsigned *slot = &used[hash_bytes(name, (size_t)n, 1) & 1023];

		*slot += 1;
		most = *slot > most ? *slot : most;
	}
	/* Ten on average; thirty in one place would be a broken hash and not bad luck. */
	CHECK(most < 30);
}

TEST(random_seeds_differ)
{
	CHECK(hash_random_seed() != hash_random_seed());
}
