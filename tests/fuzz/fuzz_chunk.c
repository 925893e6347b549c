/*
 * The bytes of chunks. Input is what follows the checksum, which is made to fit. A chunk that opens
 * is read in every way there is, and taken apart and put together again: then it must say the same.
 */
#include <stdlib.h>

#include "store/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STACKS 4096

static bool keep_all(void *context, uint32_t type)
{
	(void)context;
	(void)type;
	return true;
}

/* A number that depends on every row, whatever their order. False for values so large that sums of
 * equal rows might have to stay at the end of int64. */
static bool fingerprint(const struct chunk_view *v, struct arena *arena, int64_t most,
			uint64_t *ret)
{
	size_t rows = (size_t)v->head.rows + 1;
	uint32_t *stacks = arena_alloc(arena, rows * sizeof(*stacks));
	int64_t *values = arena_alloc(arena, rows * sizeof(*values));

	*ret = 0;
	if (!stacks || !values || chunk_stacks(v, UINT32_MAX, stacks))
		return false;
	for (uint32_t c = 0; c < v->head.column_count; c++) {
		if (chunk_values(v, &v->head.columns[c], values))
			return false;
		for (uint32_t i = 0; i < v->head.rows; i++) {
			if (values[i] > most || values[i] < -most)
				return false;
			*ret += (uint64_t)values[i] * (stacks[i] + 1ull) * (c + 1);
		}
	}
	return true;
}

static void read_all(const struct chunk_view *v, struct arena *arena)
{
	size_t rows = (size_t)v->head.rows + 1;
	uint32_t *stacks = arena_alloc(arena, rows * sizeof(*stacks)), n;
	int64_t *values = arena_alloc(arena, rows * sizeof(*values));
	static int64_t sums[STACKS];
	struct sums s = {.v = sums, .n = STACKS};
	struct chunk_group *groups;
	struct str links;

	if (!stacks || !values)
		abort();
	(void)!chunk_stacks(v, STACKS, stacks);
	(void)!chunk_times(v, values);
	(void)!chunk_groups(v, arena, &groups, &n);
	(void)!chunk_links(v, &links);
	for (uint32_t i = 0; i < v->head.column_count; i++)
		(void)(chunk_values(v, &v->head.columns[i], values) ||
		       chunk_sum(v, &v->head.columns[i], &s));
}

/* Columns of one type twice cannot be told apart by their type. */
static bool types_differ(const struct chunk_head *h)
{
	for (uint32_t i = 0; i < h->column_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (h->columns[i].type == h->columns[k].type)
				return false;
	return true;
}

static void put_together_again(const struct chunk_view *v, struct arena *arena)
{
	struct chunk_scratch scratch = {0};
	struct buf out = BUF_INIT((size_t)1 << 28);
	struct chunk_view again;
	uint64_t before, after;

	if (fingerprint(v, arena, INT64_C(1) << 32, &before) &&
	    !chunk_filter_types(v, keep_all, NULL, &scratch, &out) && out.n) {
		if (chunk_open(buf_view(&out), arena, &again) ||
		    !fingerprint(&again, arena, INT64_MAX, &after) || before != after)
			abort();
		if (again.head.series != v->head.series || again.head.rows > v->head.rows)
			abort();
	}
	buf_release(&out);
	chunk_scratch_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT((size_t)1 << 28);
	struct arena arena = {0};
	struct chunk_view v;

	buf_append(&bytes, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	buf_append(&bytes, data, size);
	blob_seal(&bytes, 0, CHUNK_VERSION);
	if (!buf_error(&bytes) && !chunk_open(buf_view(&bytes), &arena, &v)) {
		read_all(&v, &arena);
		if (types_differ(&v.head))
			put_together_again(&v, &arena);
	}
	arena_release(&arena);
	buf_release(&bytes);
	return 0;
}
