#include "chunk_maker.h"

#include "store/bloom.h"

#define STACKS 400
#define CHUNKS 60

/* Chunks of random rows, and a block of them. */
struct made_block {
	struct made_rows rows[CHUNKS];
	struct chunk_view views[CHUNKS], *pointers[CHUNKS];
	struct buf bytes[CHUNKS], block;
	struct arena arena;
	struct chunk_scratch scratch;
};

static void made_block_free(struct made_block **m)
{
	if (!*m)
		return;
	for (unsigned i = 0; i < CHUNKS; i++)
		buf_release(&(*m)->bytes[i]);
	buf_release(&(*m)->block);
	arena_release(&(*m)->arena);
	chunk_scratch_release(&(*m)->scratch);
	mem_free(*m);
}

static enum err made_block_fill(struct made_block *m, unsigned shapes)
{
	uint64_t state = 11;

	m->block = BUF_INIT(1 << 24);
	for (unsigned i = 0; i < CHUNKS; i++) {
		made_rows_fill(&m->rows[i], &state, i % shapes, STACKS);
		m->bytes[i] = BUF_INIT(1 << 24);
		TRY(chunk_encode(&m->rows[i].rows, &m->scratch, &m->bytes[i]));
		TRY(chunk_open(buf_view(&m->bytes[i]), &m->arena, &m->views[i]));
		m->pointers[i] = &m->views[i];
	}
	return block_encode(m->pointers, CHUNKS, &m->block);
}

#define MADE_BLOCK(name, shapes)                                                         \
	CLEANUP(made_block_free) struct made_block *name = mem_zalloc(1, sizeof(*name)); \
	CHECK(name != NULL);                                                             \
	CHECK_OK(made_block_fill(name, shapes))

static const struct made_rows *rows_of(const struct made_block *m, const struct chunk_view *v)
{
	for (unsigned i = 0; i < CHUNKS; i++)
		if (m->rows[i].rows.time_ns == v->head.time_ns &&
		    m->rows[i].rows.series == v->head.series)
			return &m->rows[i];
	return NULL;
}

TEST(a_block_has_what_its_chunks_had)
{
	MADE_BLOCK(m, 32);
	CLEANUP(block_release) struct block b = {0};

	CHECK_OK(block_open(buf_view(&m->block), 1 << 24, &b));
	CHECK_INT(b.n, CHUNKS);
	for (size_t i = 0; i < b.n; i++) {
		const struct made_rows *rows = rows_of(m, &b.chunks[i]);
		int64_t sums[STACKS] = {0};
		struct sums s = {.v = sums, .n = STACKS};

		CHECK(rows != NULL);
		CHECK_OK(chunk_sum(&b.chunks[i], chunk_find(&b.chunks[i], 12), &s));
		for (uint32_t stack = 0; stack < STACKS; stack++)
			CHECK_INT(sums[stack], made_rows_sum(rows, 12, stack));
	}
}

TEST(a_block_of_blocks_has_what_they_had)
{
	MADE_BLOCK(m, 32);
	CLEANUP(block_release) struct block b = {0}, again = {0};
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);
	struct chunk_view *views[CHUNKS];
	int64_t sums[STACKS] = {0};
	struct sums s = {.v = sums, .n = STACKS};

	CHECK_OK(block_open(buf_view(&m->block), 1 << 24, &b));
	for (size_t i = 0; i < b.n; i++)
		views[i] = &b.chunks[i];
	CHECK_OK(block_encode(views, b.n, &bytes));
	CHECK_INT(bytes.n, m->block.n);
	CHECK_OK(block_open(buf_view(&bytes), 1 << 24, &again));
	for (size_t i = 0; i < again.n; i++)
		CHECK_OK(chunk_sum(&again.chunks[i], chunk_find(&again.chunks[i], 10), &s));
	for (uint32_t stack = 0; stack < STACKS; stack++) {
		int64_t expected = 0;

		for (unsigned i = 0; i < CHUNKS; i++)
			expected += made_rows_sum(&m->rows[i], 10, stack);
		CHECK_INT(sums[stack], expected);
	}
}

TEST(the_filter_of_a_block_knows_its_spans)
{
	MADE_BLOCK(m, 32);
	struct link wanted = {0};
	bool perhaps = false;
	unsigned wrong = 0;

	memset(&wanted, 3, sizeof(wanted));
	CHECK_OK(block_may_link(buf_view(&m->block), &wanted, 1, &perhaps));
	CHECK(perhaps);
	for (unsigned i = 0; i < 1000; i++) {
		memset(&wanted, 0, sizeof(wanted));
		memcpy(wanted.span_id, &(uint64_t){1000 + i}, 8);
		CHECK_OK(block_may_link(buf_view(&m->block), &wanted, 1, &perhaps));
		wrong += perhaps;
	}
	CHECK(wrong < 50);
}

TEST(a_block_without_links_excludes_every_span)
{
	MADE_BLOCK(m, 2);
	struct link wanted = {.span_id = {1}};
	bool perhaps = true;

	CHECK_OK(block_may_link(buf_view(&m->block), &wanted, 1, &perhaps));
	CHECK(!perhaps);
}

TEST(a_filter_is_seldom_wrong_and_never_forgets)
{
	uint8_t filter[4000] = {0};
	size_t size = bloom_size(2000);
	unsigned wrong = 0;

	CHECK(size <= sizeof(filter));
	for (uint64_t i = 0; i < 2000; i++)
		bloom_add(filter, size, (const uint8_t *)&i);
	for (uint64_t i = 0; i < 2000; i++)
		CHECK(bloom_has(filter, size, (const uint8_t *)&i));
	for (uint64_t i = 2000; i < 12000; i++)
		wrong += bloom_has(filter, size, (const uint8_t *)&i);
	CHECK(wrong < 200);
}

/* Type 11 is a gauge: per series; the others are sums. */
static const bool gauges[13] = {[11] = true};

static enum err roll_up(const struct made_block *m, struct buf *out)
{
	struct rollup *r;
	enum err e;

	TRY(rollup_new(0, 3600, &r));
	e = ERR_OK;
	for (unsigned i = 0; !e && i < CHUNKS; i++)
		e = rollup_add(r, &m->views[i], gauges, 13, STACKS);
	if (!e)
		e = rollup_finish(r, out);
	rollup_free(r);
	return e;
}

static int64_t expected_sum(const struct made_block *m, uint32_t type, uint32_t series,
			    uint32_t stack, uint32_t *ret_profiles)
{
	int64_t sum = 0;

	*ret_profiles = 0;
	for (unsigned i = 0; i < CHUNKS; i++) {
		if (series != SERIES_MANY && m->rows[i].rows.series != series)
			continue;
		sum += made_rows_sum(&m->rows[i], type, stack);
		++*ret_profiles;
	}
	return sum;
}

TEST(a_roll_up_sums_per_type_and_gauges_per_series)
{
	MADE_BLOCK(m, 16);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);
	CLEANUP(block_release) struct block b = {0};

	size_t sums_found = 0;

	CHECK_OK(roll_up(m, &bytes));
	CHECK_OK(block_open(buf_view(&bytes), 1 << 24, &b));
	for (size_t i = 0; i < b.n; i++) {
		const struct chunk_head *h = &b.chunks[i].head;
		int64_t sums[STACKS] = {0};
		struct sums s = {.v = sums, .n = STACKS};
		uint32_t profiles = 0;

		if (!(h->flags & CHUNK_SUM))
			continue;
		sums_found++;
		CHECK_INT(h->column_count, 1);
		CHECK((h->series == SERIES_MANY) == (h->columns[0].type != 11));
		CHECK_OK(chunk_sum(&b.chunks[i], &h->columns[0], &s));
		for (uint32_t stack = 0; stack < STACKS; stack++)
			CHECK_INT(sums[stack],
				  expected_sum(m, h->columns[0].type, h->series, stack, &profiles));
		CHECK_INT(h->profiles, profiles);
	}
	CHECK_INT(sums_found, 2 + 5);
}

TEST(every_changed_byte_of_a_block_is_noticed)
{
	MADE_BLOCK(m, 32);

	for (size_t i = 0; i < m->block.n; i += 7) {
		struct block b;

		m->block.data[i] ^= 4;
		CHECK(block_open(buf_view(&m->block), 1 << 24, &b) != ERR_OK);
		m->block.data[i] ^= 4;
	}
}

TEST(a_block_keeps_to_its_memory)
{
	MADE_BLOCK(m, 32);
	struct block b;

	CHECK_ERR(block_open(buf_view(&m->block), 4096, &b), ERR_TOO_LARGE);
}

static enum err block_once(struct made_block *m)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);
	CLEANUP(block_release) struct block b = {0};
	struct str stream;

	TRY(block_encode(m->pointers, CHUNKS, &bytes));
	TRY(block_open(buf_view(&bytes), 1 << 24, &b));
	return chunk_stream(&b.chunks[0], STREAM_TOKENS, &stream);
}

static enum err rollup_once(struct made_block *m)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);

	return roll_up(m, &bytes);
}

TEST(blocks_and_roll_ups_cope_with_failing_allocations)
{
	MADE_BLOCK(m, 32);

	ALLOC_SWEEP(block_once(m));
	ALLOC_SWEEP(rollup_once(m));
}
