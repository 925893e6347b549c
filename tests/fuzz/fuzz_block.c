/*
 * The bytes of blocks; as with chunks, the checksum is made to fit. A block that opens is read, and
 * made into a block again that has as many chunks and rows.
 */
#include <stdlib.h>

#include "store/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STACKS 4096

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
