#include "store/fair_share.h"

#include "test.h"

#define SHARE(capacity, ...)                        \
	fair_share((const uint64_t[]){__VA_ARGS__}, \
		   sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), capacity)

TEST(nobody_gives_while_it_fits)
{
	CHECK(fair_share(NULL, 0, 0) == UINT64_MAX);
	CHECK(SHARE(10, 10) == UINT64_MAX);
	CHECK(SHARE(100, 50, 40, 10) == UINT64_MAX);
}

TEST(who_has_less_than_a_share_gives_nothing)
{
	/* The flood of one leaves the others what they have. */
	CHECK_INT(SHARE(100, 1000, 10, 20), 70);
	CHECK_INT(SHARE(100, 1000, 1000, 20), 40);
	CHECK_INT(SHARE(99, 1000, 1000, 1000), 33);
	CHECK_INT(SHARE(10, 1000), 10);
	CHECK_INT(SHARE(0, 5, 5), 0);
}

TEST(what_is_left_fits_and_is_as_much_as_it_can_be)
{
	uint64_t state = 1;

	for (int round = 0; round < 2000; round++) {
		uint64_t use[20], capacity, share, left = 0, sum = 0;
		size_t n;

		state = state * 6364136223846793005u + 1442695040888963407u;
		n = 1 + (state >> 33) % 20;
		for (size_t i = 0; i < n; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			use[i] = (state >> 33) % (1u << (1 + i % 20));
			sum += use[i];
		}
		capacity = sum ? (state >> 20) % sum : 0;
		share = fair_share(use, n, capacity);
		if (sum <= capacity) {
			CHECK(share == UINT64_MAX);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			left += use[i] < share ? use[i] : share;
		CHECK(left <= capacity);
		/* Not a byte more for each. */
		left = 0;
		for (size_t i = 0; i < n; i++)
			left += use[i] < share + 1 ? use[i] : share + 1;
		CHECK(left > capacity);
	}
}

TEST(sums_beyond_64_bits_are_too_much)
{
	CHECK_INT(SHARE(100, UINT64_MAX, UINT64_MAX, 1), 49);
}
