/*
 * Private to src/store: seals, keyed checksums that bind a row to its place.
 *
 * Every row has a *seal*: a hash over table, key, columns and content, keyed by the path of its
 * file (store, tenant, kind, day) and by the file's random number. A row that was altered, or moved
 * to another key, table, file, day or tenant, has a wrong seal. For a blob with a checksum of its
 * own (chunk.h, block.h, partition.h, series_delta.c) the seal covers its length and header, which
 * contains that checksum, so that no byte is hashed twice.
 *
 * A seal is never 0: 0 marks rows from formats without seals.
 *
 * Missing, duplicate or restored old rows have valid seals. They are detected by *tallies*: count
 * and sum of the seals of a table, updated by every transaction. Those of a service are in its row,
 * all others in the ledger (ledger.h).
 */
#pragma once

#include "base/hash.h"
#include "base/str.h"

enum sealed_table {
	SEALED_LEDGER = 1,
	SEALED_SERVICE,
	SEALED_DICTIONARY,
	SEALED_CHUNK,
	SEALED_BLOCK,
	SEALED_ROLLUP,
	SEALED_REACH,
	SEALED_NAME,
	SEALED_SPAN,
	SEALED_SETTING,
	SEALED_AUDIT,
	SEALED_UNDO,
	SEALED_FILE,
	SEALED_JOURNAL,
	SEALED_PLACE,
	SEALED_INDEX,
};

static inline uint64_t seal_begin(uint64_t key, enum sealed_table table)
{
	return hash_mix(key ^ table, key);
}
static inline uint64_t seal_number(uint64_t seal, uint64_t number)
{
	return hash_mix(seal ^ number, seal >> 32 | HASH_K1);
}
/* Length and content. */
static inline uint64_t seal_text(uint64_t seal, struct str text)
{
	return seal_number(hash_str(text, seal), text.n);
}
/* For a blob that begins with its checksum. */
static inline uint64_t seal_blob(uint64_t seal, struct str blob)
{
	uint64_t head = 0;

	if (blob.n)
		memcpy(&head, blob.p, blob.n < 6 ? blob.n : 6);
	return seal_number(seal_number(seal, head), blob.n);
}
static inline uint64_t seal_end(uint64_t seal)
{
	return seal ? seal : 1;
}

struct tally {
	uint64_t n, sum;
};
static inline void tally_add(struct tally *t, uint64_t seal)
{
	t->n++;
	t->sum += seal;
}
static inline void tally_take(struct tally *t, uint64_t seal)
{
	t->n--;
	t->sum -= seal;
}
static inline bool tally_equal(const struct tally *a, const struct tally *b)
{
	return a->n == b->n && a->sum == b->sum;
}

/* Encoded tallies: 16 bytes each, little endian. */
#define TALLY_BYTES 16
static inline void tally_write(const struct tally *t, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < 8; b++) {
			out[i * TALLY_BYTES + b] = (uint8_t)(t[i].n >> 8 * b);
			out[i * TALLY_BYTES + 8 + b] = (uint8_t)(t[i].sum >> 8 * b);
		}
}
static inline bool tally_read(struct str bytes, struct tally *ret, size_t n)
{
	const uint8_t *p = (const uint8_t *)bytes.p;

	if (bytes.n != n * TALLY_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct tally){0};
		for (unsigned b = 0; b < 8; b++) {
			ret[i].n |= (uint64_t)p[i * TALLY_BYTES + b] << 8 * b;
			ret[i].sum |= (uint64_t)p[i * TALLY_BYTES + 8 + b] << 8 * b;
		}
	}
	return true;
}

/* ------------------------------------------------------------------ rows of a day */

/* Tallies of a service, in its row. */
enum { TALLY_DICTIONARY, TALLY_BLOCKS, TALLY_ROLLUPS, TALLY_REACHES, TALLY_INDEX, SERVICE_TALLIES };
/* Tallies of a file, in its ledger. */
enum { TALLY_SERVICES, TALLY_CHUNKS, TALLY_MARKS };
/* The last two are sums of hashes of index entries (spans.h). They are valid if they count as many
 * entries as there are spans; deleting spans clears them. */
enum { TALLY_NAMES, TALLY_SPANS, TALLY_SPAN_SERVICES, TALLY_SPAN_TRACES };
enum { TALLY_SETTINGS, TALLY_AUDIT, TALLY_UNDO, TALLY_FILES };

static inline uint64_t seal_service(uint64_t key, int64_t id, struct str name, int64_t series,
				    const struct tally *tallies)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_SERVICE), (uint64_t)id);

	s = seal_number(seal_text(s, name), (uint64_t)series);
	for (int i = 0; i < SERVICE_TALLIES; i++)
		s = seal_number(seal_number(s, tallies[i].n), tallies[i].sum);
	return seal_end(s);
}
static inline uint64_t seal_dictionary(uint64_t key, int64_t id, struct str data)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_DICTIONARY), (uint64_t)id);

	return seal_end(seal_blob(s, data));
}
static inline uint64_t seal_index(uint64_t key, int64_t id, struct str data)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_INDEX), (uint64_t)id);

	return seal_end(seal_blob(s, data));
}
static inline uint64_t seal_chunk(uint64_t key, int64_t id, int64_t service, int64_t rows,
				  struct str data)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_CHUNK), (uint64_t)id);

	s = seal_number(seal_number(s, (uint64_t)service), (uint64_t)rows);
	return seal_end(seal_blob(s, data));
}
/* `columns`: profiles, rows, first, last. */
static inline uint64_t seal_block(uint64_t key, int64_t id, int64_t service,
				  const int64_t columns[4], struct str data)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_BLOCK), (uint64_t)id);

	s = seal_number(s, (uint64_t)service);
	for (int i = 0; i < 4; i++)
		s = seal_number(s, (uint64_t)columns[i]);
	return seal_end(seal_blob(s, data));
}
static inline uint64_t seal_rollup(uint64_t key, int64_t service, int64_t level, int64_t start,
				   struct str data)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_ROLLUP), (uint64_t)service);

	s = seal_number(seal_number(s, (uint64_t)level), (uint64_t)start);
	return seal_end(seal_blob(s, data));
}
static inline uint64_t seal_reach(uint64_t key, int64_t service, int64_t window, int64_t longest)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_REACH), (uint64_t)service);

	return seal_end(seal_number(seal_number(s, (uint64_t)window), (uint64_t)longest));
}
