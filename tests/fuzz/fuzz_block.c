/*
 * The bytes of blocks; as with chunks, the checksum is made to fit. A block that opens is read, and
 * made into a block again that has as many chunks and rows.
 */
#include <stdlib.h>

#include "store/block.h"
#include "store/coverage.h"
#include "store/row_cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STACKS 4096

#define ROWS 65536

/* Parts of it are never more than all of it, and a run ends after it begins. */
static void cut(const struct chunk_view *v, struct arena *arena)
{
	size_t n = v->head.rows < ROWS ? (size_t)v->head.rows + 1 : 1;
	int64_t *values = arena_alloc(arena, n * sizeof(*values));
	int64_t *times = arena_alloc(arena, n * sizeof(*times));
	int64_t *before = arena_alloc(arena, n * sizeof(*before));
	struct coverage_run run = coverage_of_chunk(&v->head);
	struct row_cut c;

	if (run.start_ns > run.last_ns || run.last_ns > run.end_ns || run.covered_ns < 0 ||
	    run.covered_ns > run.end_ns - run.start_ns || !run.n)
		abort();
	if (v->head.rows >= ROWS || !v->head.column_count || !values || !times || !before ||
	    chunk_values(v, v->head.columns, values) || chunk_times(v, times))
		return;
	row_cut_init(&c, &v->head, values, times);
	row_cut_before(&c, run.start_ns + (run.end_ns - run.start_ns) / 3, before);
	for (uint32_t i = 0; i < c.n; i++)
		if (!c.alone && (before[i] < 0 || before[i] > values[i]) && values[i] >= 0)
			abort();
}

static void read_chunks(struct block *b)
{
	static int64_t sums[STACKS];
	struct arena arena = {0};

	for (size_t i = 0; i < b->n; i++) {
		const struct chunk_view *v = &b->chunks[i];
		struct sums s = {.v = sums, .n = STACKS};
		struct chunk_group *groups;
		uint32_t n;

		for (uint32_t c = 0; c < v->head.column_count; c++)
			(void)!chunk_sum(v, &v->head.columns[c], &s);
		(void)!chunk_groups(v, &arena, &groups, &n);
		cut(v, &arena);
		arena_release(&arena);
	}
}

static void make_again(struct block *b)
{
	struct chunk_view **views = mem_zalloc(b->n + 1, sizeof(struct chunk_view *));
	struct buf out = BUF_INIT((size_t)1 << 28);
	struct block again;

	for (size_t i = 0; views && i < b->n; i++)
		views[i] = &b->chunks[i];
	if (views && !block_encode(views, b->n, &out)) {
		if (block_open(buf_view(&out), (size_t)1 << 28, &again) || again.n != b->n)
			abort();
		block_release(&again);
	}
	buf_release(&out);
	mem_free(views);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT((size_t)1 << 28);
	struct link link = {.span_id = {1, 2, 3}};
	struct block b;
	bool found;

	buf_append(&bytes, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	buf_append(&bytes, data, size);
	blob_seal(&bytes, 0, BLOCK_VERSION);
	if (buf_error(&bytes))
		return 0;
	(void)!block_may_link(buf_view(&bytes), &link, 1, &found);
	if (!block_open(buf_view(&bytes), (size_t)64 << 20, &b)) {
		read_chunks(&b);
		make_again(&b);
		block_release(&b);
	}
	buf_release(&bytes);
	return 0;
}
