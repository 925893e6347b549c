/*
 * Instead of gzip_write.c where every kilobyte counts (src/sdk): 4 KB of code where libdeflate's
 * many ways to compress are 45. One way, greedy, with dynamic codes (RFC 1951, 1952); what it makes
 * of profiles is a few percent longer than libdeflate's sixth level.
 *
 * The input is cut into blocks of so many symbols. Each is searched (find_match: chains of
 * positions whose next four bytes have the same hash), counted, given codes (code_lengths.c) and
 * written.
 */
#include "base/alloc.h"
#include "format/code_lengths.h"
#include "format/formats_internal.h"

#define WINDOW	      32768u
#define MATCH_LEAST   4u
#define MATCH_MOST    258u
#define HASH_BITS     13
#define TRIES	      24
#define BLOCK_SYMBOLS 16384u

#define LITERALS     286u /* literals, the end of a block, and lengths */
#define DISTANCES    30u
#define CODE_LENGTHS 19u
#define END_OF_BLOCK 256u
#define BITS_MOST    15
#define BITS_HEADER  7 /* of a code for code lengths */

struct symbol {
	uint16_t length;   /* 0 = a literal */
	uint16_t distance; /* of a match; or the literal */
};

struct deflate {
	struct buf *out;
	uint64_t bits; /* not written yet */
	uint32_t bit_count;
	const uint8_t *data;
	size_t n, at;
	uint32_t heads[1 << HASH_BITS]; /* position + 1 of the last with this hash */
	uint32_t before[WINDOW];	/* position + 1 of the one before it */
	struct symbol symbols[BLOCK_SYMBOLS];
	uint32_t symbol_count;
	struct code literals[LITERALS], distances[DISTANCES];
};

/* ------------------------------------------------------------------ bits */

static void put_bits(struct deflate *d, uint32_t value, uint32_t count)
{
	d->bits |= (uint64_t)value << d->bit_count;
	d->bit_count += count;
	while (d->bit_count >= 8) {
		buf_byte(d->out, (uint8_t)d->bits);
		d->bits >>= 8;
		d->bit_count -= 8;
	}
}

static void put_code(struct deflate *d, const struct code *c)
{
	put_bits(d, c->bits, c->length);
}

/* Lengths and distances are written as the number of a range and bits for the place in it. Ranges
 * double: with `each` of a size, after the first `plain` ones that hold one value. */
struct range {
	uint32_t number, extra, extra_bits;
};

static struct range range_of(uint32_t value, uint32_t each_bits)
{
	uint32_t high = 0, shift;

	while (value >> (high + 1))
		high++;
	if (high <= each_bits)
		return (struct range){value, 0, 0};
	shift = high - each_bits;
	return (struct range){(shift << each_bits) + (value >> shift), value & ((1u << shift) - 1),
			      shift};
}

static struct range length_range(uint32_t length)
{
	struct range r = range_of(length - 3, 2);

	if (length == MATCH_MOST)
		return (struct range){285, 0, 0};
	r.number += 257;
	return r;
}

static struct range distance_range(uint32_t distance)
{
	return range_of(distance - 1, 1);
}

/* ------------------------------------------------------------------ matches */

static uint32_t hash_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word * 2654435761u >> (32 - HASH_BITS);
}

static void remember(struct deflate *d, size_t at)
{
	uint32_t *head;

	if (at + MATCH_LEAST > d->n)
		return;
	head = &d->heads[hash_at(d->data + at)];
	d->before[at % WINDOW] = *head;
	*head = (uint32_t)at + 1;
}

static uint32_t match_length(const struct deflate *d, size_t from)
{
	size_t most = d->n - d->at;
	uint32_t n = 0;

	most = most < MATCH_MOST ? most : MATCH_MOST;
	while (n < most && d->data[from + n] == d->data[d->at + n])
		n++;
	return n;
}

static uint32_t find_match(const struct deflate *d, uint32_t *ret_distance)
{
	uint32_t best = MATCH_LEAST - 1, next, tries = TRIES;

	if (d->n - d->at < MATCH_LEAST)
		return 0;
	for (next = d->heads[hash_at(d->data + d->at)]; next && tries--;) {
		size_t from = next - 1;
		uint32_t n;

		/* Older ones were overwritten by newer. */
		if (d->at - from > WINDOW - MATCH_MOST)
			break;
		n = match_length(d, from);
		if (n > best) {
			best = n;
			*ret_distance = (uint32_t)(d->at - from);
		}
		next = d->before[from % WINDOW];
	}
	return best >= MATCH_LEAST ? best : 0;
}

static void count_symbol(struct deflate *d, struct symbol s)
{
	d->symbols[d->symbol_count++] = s;
	if (!s.length) {
		d->literals[s.distance].count++;
		return;
	}
	d->literals[length_range(s.length).number].count++;
	d->distances[distance_range(s.distance).number].count++;
}

static void search_block(struct deflate *d)
{
	d->symbol_count = 0;
	memset(d->literals, 0, sizeof(d->literals));
	memset(d->distances, 0, sizeof(d->distances));
	while (d->at < d->n && d->symbol_count < BLOCK_SYMBOLS) {
		uint32_t distance = 0, length = find_match(d, &distance);
		struct symbol s = {(uint16_t)length,
				   (uint16_t)(length ? distance : d->data[d->at])};
		size_t end = d->at + (length ? length : 1);

		count_symbol(d, s);
		while (d->at < end)
			remember(d, d->at++);
	}
	d->literals[END_OF_BLOCK].count = 1;
}

/* ------------------------------------------------------------------ blocks */

static uint32_t used(const struct code *codes, uint32_t n, uint32_t least)
{
	while (n > least && !codes[n - 1].length)
		n--;
	return n;
}

/* Lengths of codes, one after the other; runs of nothing, which are long, by a symbol each. */
static uint32_t shorten(const struct deflate *d, uint32_t literals, uint32_t distances,
			uint8_t *lengths, uint8_t *symbols, uint8_t *extras)
{
	uint32_t n = 0, total = literals + distances, i = 0;

	for (uint32_t k = 0; k < literals; k++)
		lengths[k] = d->literals[k].length;
	for (uint32_t k = 0; k < distances; k++)
		lengths[literals + k] = d->distances[k].length;
	while (i < total) {
		uint32_t run = 1;

		while (!lengths[i] && i + run < total && run < 138 && !lengths[i + run])
			run++;
		if (run < 3)
			run = 1;
		symbols[n] = run == 1 ? lengths[i] : run < 11 ? 17 : 18;
		extras[n++] = (uint8_t)(run < 11 ? run - 3 : run - 11);
		i += run;
	}
	return n;
}

static void put_header(struct deflate *d, bool last)
{
	static const uint8_t order[CODE_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						    11, 4,  12, 3, 13, 2, 14, 1, 15};
	uint32_t literals = used(d->literals, LITERALS, 257),
		 distances = used(d->distances, DISTANCES, 1);
	uint8_t lengths[LITERALS + DISTANCES], symbols[LITERALS + DISTANCES],
		extras[LITERALS + DISTANCES];
	struct code codes[CODE_LENGTHS] = {0};
	uint32_t n = shorten(d, literals, distances, lengths, symbols, extras),
		 given = CODE_LENGTHS;

	for (uint32_t i = 0; i < n; i++)
		codes[symbols[i]].count++;
	codes_make(codes, CODE_LENGTHS, BITS_HEADER);
	while (given > 4 && !codes[order[given - 1]].length)
		given--;
	put_bits(d, last, 1);
	put_bits(d, 2, 2);
	put_bits(d, literals - 257, 5);
	put_bits(d, distances - 1, 5);
	put_bits(d, given - 4, 4);
	for (uint32_t i = 0; i < given; i++)
		put_bits(d, codes[order[i]].length, 3);
	for (uint32_t i = 0; i < n; i++) {
		put_code(d, &codes[symbols[i]]);
		if (symbols[i] > 16)
			put_bits(d, extras[i], symbols[i] == 17 ? 3 : 7);
	}
}

static void put_match(struct deflate *d, const struct symbol *s)
{
	struct range length = length_range(s->length), distance = distance_range(s->distance);

	put_code(d, &d->literals[length.number]);
	put_bits(d, length.extra, length.extra_bits);
	put_code(d, &d->distances[distance.number]);
	put_bits(d, distance.extra, distance.extra_bits);
}

static void put_block(struct deflate *d, bool last)
{
	codes_make(d->literals, LITERALS, BITS_MOST);
	codes_make(d->distances, DISTANCES, BITS_MOST);
	put_header(d, last);
	for (uint32_t i = 0; i < d->symbol_count; i++)
		if (d->symbols[i].length)
			put_match(d, &d->symbols[i]);
		else
			put_code(d, &d->literals[d->symbols[i].distance]);
	put_code(d, &d->literals[END_OF_BLOCK]);
}

/* ------------------------------------------------------------------ the file */

static uint32_t crc32_of(const uint8_t *data, size_t n)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(uint8_t)crc ^ data[i]];
	return ~crc;
}

enum err compress_gzip(struct str plain, int level, struct buf *out)
{
	static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	struct deflate *d;

	(void)level;
	if (plain.n >= UINT32_MAX)
		return ERR_TOO_LARGE;
	d = mem_zalloc(1, sizeof(*d));
	if (!d)
		return ERR_NO_MEMORY;
	d->out = out;
	d->data = (const uint8_t *)plain.p;
	d->n = plain.n;
	buf_append(out, head, sizeof(head));
	do {
		search_block(d);
		put_block(d, d->at == d->n);
	} while (d->at < d->n);
	put_bits(d, 0, -d->bit_count % 8);
	put_bits(d, crc32_of(d->data, d->n), 32);
	put_bits(d, (uint32_t)d->n, 32);
	mem_free(d);
	return buf_error(out);
}
