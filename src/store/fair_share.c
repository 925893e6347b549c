#include "store/fair_share.h"

/* Sums of sizes on disks stay far below 2^64; one that would not is cut off there. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t fair_share(const uint64_t *use, size_t n, uint64_t capacity)
{
	uint64_t sum = 0, share;

	for (size_t i = 0; i < n; i++)
		sum = add(sum, use[i]);
	if (sum <= capacity)
		return UINT64_MAX;
	share = capacity / n;
	/* Raise it by what tenants below it leave, until no others are below. */
	for (;;) {
		uint64_t below = 0, more, above = 0;

		for (size_t i = 0; i < n; i++) {
			if (use[i] <= share)
				below = add(below, use[i]);
			else
				above++;
		}
		more = (capacity - below) / above;
		if (more == share)
			return share;
		share = more;
	}
}
