#include "test.h"

#include "base/hash.h"
#include "model/model.h"

#define ENTRIES 64

/* True when all n hashes differ. */
static bool distinct(const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (hashes[i] == hashes[j])
				return false;
	return true;
}

/* Lines and addresses come out of files: a file must not choose where its frames land. */
TEST(frames_with_a_constant_of_the_hash_as_line_do_not_collide)
{
	static const uint64_t lines[] = {HASH_K1, HASH_K2, HASH_K1 ^ HASH_K2};
	uint64_t hashes[ENTRIES];

	for (size_t l = 0; l < 3; l++) {
		for (uint64_t i = 0; i < ENTRIES; i++) {
			struct frame f = {.address = i, .line = (int64_t)lines[l]};

			hashes[i] = content_frame(&f, 11, 12, 13);
		}
		CHECK(distinct(hashes, ENTRIES));
		for (uint64_t i = 0; i < ENTRIES; i++) {
			struct frame f = {.address = lines[l], .line = (int64_t)i};

			hashes[i] = content_frame(&f, 11, 12, 13);
		}
		CHECK(distinct(hashes, ENTRIES));
	}
}

TEST(frames_do_not_collide_when_line_and_column_cancel_each_other)
{
	uint64_t hashes[ENTRIES];

	for (unsigned shift = 0; shift < 64; shift++) {
		for (uint64_t i = 0; i < ENTRIES; i++) {
			struct frame f = {.line = (int64_t)(i << shift), .column = (uint32_t)i};

			hashes[i] = content_frame(&f, 11, 12, 13);
		}
		CHECK(distinct(hashes, ENTRIES));
	}
}

TEST(mappings_with_a_constant_of_the_hash_as_bound_do_not_collide)
{
	uint64_t hashes[ENTRIES];

	for (uint64_t i = 0; i < ENTRIES; i++) {
		struct mapping m = {.start = i, .limit = HASH_K2, .offset = HASH_K1};

		hashes[i] = content_mapping(&m, 21, 22, 23, 24);
	}
	CHECK(distinct(hashes, ENTRIES));
}

TEST(functions_with_a_constant_of_the_hash_as_first_line_do_not_collide)
{
	uint64_t hashes[ENTRIES];

	for (uint64_t i = 0; i < ENTRIES; i++)
		hashes[i] = content_function(31, 32, 1000 + i, (int64_t)HASH_K2);
	CHECK(distinct(hashes, ENTRIES));
}
