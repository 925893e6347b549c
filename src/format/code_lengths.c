#include "format/code_lengths.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 32

struct weighed {
	uint32_t weight;
	uint16_t symbol, parent;
};

static int by_weight(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->symbol < y->symbol ? -1 : 1;
}

static uint32_t lighter(const struct weighed *leaves, uint32_t n, const struct weighed *inner,
			uint32_t made, uint32_t *leaf, uint32_t *node)
{
	if (*leaf < n && (*node >= made || leaves[*leaf].weight <= inner[*node].weight))
		return (*leaf)++;
	return CODES_MOST + (*node)++;
}

/* Huffman's tree of the leaves, which are sorted; how many of them are at which depth. Inner nodes
 * come by weight as well, so that two queues have the lightest in front. */
static void count_depths(struct weighed *leaves, uint32_t n, uint32_t at_depth[DEPTH_MOST + 1])
{
	struct weighed inner[CODES_MOST];
	uint8_t depth[CODES_MOST];
	uint32_t leaf = 0, node = 0, made;

	for (made = 0; made + 1 < n; made++) {
		uint32_t sum = 0;

		for (int i = 0; i < 2; i++) {
			uint32_t one = lighter(leaves, n, inner, made, &leaf, &node);
			struct weighed *w =
				one < CODES_MOST ? &leaves[one] : &inner[one - CODES_MOST];

			w->parent = (uint16_t)made;
			sum += w->weight;
		}
		inner[made].weight = sum;
	}
	for (uint32_t i = made; i-- > 0;)
		depth[i] = i == made - 1 ? 0 : (uint8_t)(depth[inner[i].parent] + 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t d = made ? depth[leaves[i].parent] + 1u : 1;

		at_depth[d < DEPTH_MOST ? d : DEPTH_MOST]++;
	}
}

/* Codes that are too long are cut to the limit; then shorter codes are lengthened until Kraft's
 * inequality holds, with the sum in units of the longest code. */
static void limit_depths(uint32_t at_depth[DEPTH_MOST + 1], uint32_t longest)
{
	uint64_t sum = 0;

	for (uint32_t d = longest + 1; d <= DEPTH_MOST; d++) {
		at_depth[longest] += at_depth[d];
		at_depth[d] = 0;
	}
	for (uint32_t d = 1; d <= longest; d++)
		sum += (uint64_t)at_depth[d] << (longest - d);
	while (sum > 1ull << longest) {
		uint32_t d = longest - 1;

		while (!at_depth[d])
			d--;
		/* Move one code down, next to one of the longest. */
		at_depth[d]--;
		at_depth[d + 1] += 2;
		at_depth[longest]--;
		sum--;
	}
}

static uint16_t reversed(uint32_t bits, uint32_t n)
{
	uint32_t out = 0;

	for (; n; n--, bits >>= 1)
		out = out << 1 | (bits & 1);
	return (uint16_t)out;
}

/* Codes of a length are numbered in the order of their symbols. */
static void number_codes(struct code *codes, uint32_t n, const uint32_t at_depth[DEPTH_MOST + 1],
			 uint32_t longest)
{
	uint32_t next[DEPTH_MOST + 1] = {0}, code = 0;

	for (uint32_t d = 1; d <= longest; d++) {
		next[d] = code;
		code = (code + at_depth[d]) << 1;
	}
	for (uint32_t i = 0; i < n; i++)
		if (codes[i].length)
			codes[i].bits = reversed(next[codes[i].length]++, codes[i].length);
}

void codes_make(struct code *codes, uint32_t n, uint32_t longest)
{
	struct weighed leaves[CODES_MOST];
	uint32_t at_depth[DEPTH_MOST + 1] = {0}, count = 0, next = 0;

	for (uint32_t i = 0; i < n; i++) {
		codes[i].length = 0;
		if (codes[i].count)
			leaves[count++] = (struct weighed){codes[i].count, (uint16_t)i, 0};
	}
	if (!count)
		leaves[count++] = (struct weighed){1, 0, 0};
	qsort(leaves, count, sizeof(leaves[0]), by_weight);
	count_depths(leaves, count, at_depth);
	limit_depths(at_depth, longest);
	/* The lightest get the longest. */
	for (uint32_t d = longest; d > 0; d--)
		for (uint32_t i = 0; i < at_depth[d]; i++)
			codes[leaves[next++].symbol].length = (uint8_t)d;
	number_codes(codes, n, at_depth, longest);
}
