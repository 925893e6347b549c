#include "chunk_maker.h"

#define STACKS 500

struct opened {
	struct buf bytes;
	struct arena arena;
	struct chunk_scratch scratch;
	struct chunk_view view;
};

static void opened_release(struct opened *o)
{
	buf_release(&o->bytes);
	arena_release(&o->arena);
	chunk_scratch_release(&o->scratch);
}

#define OPENED(name) CLEANUP(opened_release) struct opened name = {.bytes = BUF_INIT(1 << 24)}

static enum err encode_and_open(struct opened *o, const struct chunk_rows *rows)
{
	arena_release(&o->arena);
	buf_clear(&o->bytes);
	TRY(chunk_encode(rows, &o->scratch, &o->bytes));
	return chunk_open(buf_view(&o->bytes), &o->arena, &o->view);
}

static bool sums_agree(const struct made_rows *m, const struct chunk_view *v)
{
	for (uint32_t t = 0; t < MAKER_TYPES; t++) {
		int64_t sums[STACKS] = {0};
		struct sums s = {.v = sums, .n = STACKS};

		__int128 twice[STACKS] = {0}, all[STACKS] = {0};
		struct chunk_weights shared = {twice, STACKS, 4, 2}, alone = {all, STACKS, 1, 1};

		if (chunk_sum(v, chunk_find(v, m->types[t]), &s) ||
		    chunk_weigh(v, chunk_find(v, m->types[t]), &shared) ||
		    chunk_weigh(v, chunk_find(v, m->types[t]), &alone))
			return false;
		for (uint32_t stack = 0; stack < STACKS; stack++) {
			int64_t sum = made_rows_sum(m, m->types[t], stack);

			if (sums[stack] != sum || twice[stack] != 2 * sum || all[stack] != sum)
				return false;
		}
	}
	return true;
}

TEST(sums_per_stack_survive_encoding_in_every_shape)
{
	OPENED(o);
	uint64_t state = 1;

	for (unsigned round = 0; round < 320; round++) {
		struct made_rows m;

		made_rows_fill(&m, &state, round % 32, STACKS);
		CHECK_OK(encode_and_open(&o, &m.rows));
		CHECK(sums_agree(&m, &o.view));
		CHECK_INT(o.view.head.series, m.rows.series);
		CHECK_INT(o.view.head.time_ns, m.rows.time_ns);
		CHECK_INT(o.view.head.duration_ns, m.rows.duration_ns);
	}
}

/* A row as text of numbers, so that sets of rows can be compared whatever their order. */
static uint64_t row_key(uint32_t stack, uint32_t labels, struct link link, uint64_t time, int64_t v)
{
	uint64_t words[6] = {stack, labels, 0, 0, time, (uint64_t)v};

	memcpy(&words[2], link.trace_id, 8);
	memcpy(&words[3], link.span_id, 8);
	return hash_bytes(words, sizeof(words), 1);
}

TEST(rows_keep_labels_links_and_times)
{
	OPENED(o);
	uint64_t state = 2;

	for (unsigned round = 0; round < 160; round++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct made_rows m;
		uint32_t stacks[MAKER_ROWS], n;
		int64_t times[MAKER_ROWS], values[MAKER_ROWS];
		uint64_t expected = 0, got = 0;
		struct chunk_group *groups;
		struct str links;

		made_rows_fill(&m, &state, round % 32, 100000);
		/* Distinct stacks: nothing is merged, rows can be compared one by one. */
		for (uint32_t i = 0; i < m.rows.n; i++)
			m.stack[i] = i * 331 % 100000;
		CHECK_OK(encode_and_open(&o, &m.rows));
		CHECK_INT(o.view.head.rows, m.rows.n);
		CHECK_OK(chunk_stacks(&o.view, 100000, stacks));
		CHECK_OK(chunk_times(&o.view, times));
		CHECK_OK(chunk_values(&o.view, chunk_find(&o.view, 10), values));
		CHECK_OK(chunk_groups(&o.view, &arena, &groups, &n));
		CHECK_OK(chunk_links(&o.view, &links));
		for (uint32_t g = 0; g < n; g++) {
			for (uint32_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
				struct link link = {0};

				if (groups[g].link)
					memcpy(&link, links.p + (groups[g].link - 1) * sizeof(link),
					       sizeof(link));
				got += row_key(stacks[i], groups[g].labels, link,
					       (uint64_t)times[i], values[i]);
			}
		}
		for (uint32_t i = 0; i < m.rows.n; i++)
			expected += row_key(m.stack[i], m.rows.labels ? m.labels[i] : 0,
					    m.links[m.rows.link ? m.link[i] : 0],
					    m.rows.time ? m.time[i] : 0,
					    m.values[i * MAKER_TYPES + m.column[0]]);
		CHECK(got == expected);
	}
}

TEST(a_column_that_is_a_multiple_of_another_takes_no_bytes_per_row)
{
	OPENED(o);
	struct made_rows m;
	uint64_t state = 3;

	do
		made_rows_fill(&m, &state, 0, STACKS);
	while (m.rows.n < 100);
	for (uint32_t i = 0; i < m.rows.n; i++)
		m.stack[i] = i;
	CHECK_OK(encode_and_open(&o, &m.rows));
	CHECK(o.bytes.n < m.rows.n * 3 / 2 + 60);
	CHECK_INT(chunk_find(&o.view, 10)->source, COLUMN_ONES);
	CHECK_INT(chunk_find(&o.view, 11)->source, COLUMN_TOKENS);
	CHECK_INT(chunk_find(&o.view, 12)->source, COLUMN_TOKENS);
}

TEST(sums_stay_at_the_end_of_int64)
{
	OPENED(o);
	struct made_rows m;
	uint64_t state = 4;
	int64_t sums[STACKS] = {0};
	struct sums s = {.v = sums, .n = STACKS};

	made_rows_fill(&m, &state, 0, STACKS);
	m.rows.n = 2;
	m.stack[0] = 1;
	m.stack[1] = 2;
	m.values[0] = m.values[3] = INT64_MAX - 5;
	CHECK_OK(encode_and_open(&o, &m.rows));
	CHECK_INT(chunk_find(&o.view, 12)->total, INT64_MAX);
	for (int i = 0; i < 3; i++)
		CHECK_OK(chunk_sum(&o.view, chunk_find(&o.view, 12), &s));
	CHECK_INT(sums[1], INT64_MAX);
	CHECK_INT(sums[2], INT64_MAX);
}

TEST(a_profile_without_rows_is_a_chunk_too)
{
	OPENED(o);
	struct made_rows m;
	uint64_t state = 9;

	made_rows_fill(&m, &state, 0, STACKS);
	m.rows.n = 0;
	CHECK_OK(encode_and_open(&o, &m.rows));
	CHECK_INT(o.view.head.rows, 0);
	CHECK_INT(o.view.head.column_count, MAKER_TYPES);
	CHECK(sums_agree(&m, &o.view));
}

TEST(a_stack_outside_the_table_is_refused)
{
	OPENED(o);
	struct made_rows m;
	uint64_t state = 5;
	int64_t sums[8] = {0};
	__int128 held[8] = {0};
	struct sums s = {.v = sums, .n = 8};
	struct chunk_weights weights = {held, 8, 1, 1};

	made_rows_fill(&m, &state, 0, STACKS);
	m.rows.n = 10;
	m.stack[4] = 8;
	CHECK_OK(encode_and_open(&o, &m.rows));
	CHECK_ERR(chunk_sum(&o.view, chunk_find(&o.view, 10), &s), ERR_BAD_INDEX);
	CHECK_ERR(chunk_weigh(&o.view, chunk_find(&o.view, 10), &weights), ERR_BAD_INDEX);
}

TEST(every_changed_byte_is_noticed)
{
	OPENED(o);
	CLEANUP(arena_release) struct arena arena = {0};
	struct made_rows m;
	uint64_t state = 6;

	made_rows_fill(&m, &state, 31, STACKS);
	CHECK_OK(encode_and_open(&o, &m.rows));
	for (size_t i = 0; i < o.bytes.n; i++) {
		struct chunk_view v;

		o.bytes.data[i] ^= 1;
		CHECK(chunk_open(buf_view(&o.bytes), &arena, &v) != ERR_OK);
		o.bytes.data[i] ^= 1;
		CHECK(chunk_open(str_n(o.bytes.data, i), &arena, &v) != ERR_OK);
	}
}

static bool keeps_eleven(void *context, uint32_t type)
{
	(void)context;
	return type == 11;
}

TEST(a_chunk_without_some_types_keeps_the_others)
{
	OPENED(o);
	OPENED(left);
	uint64_t state = 7;

	for (unsigned shape = 0; shape < 32; shape++) {
		struct made_rows m;
		int64_t sums[STACKS] = {0};
		struct sums s = {.v = sums, .n = STACKS};

		made_rows_fill(&m, &state, shape, STACKS);
		CHECK_OK(encode_and_open(&o, &m.rows));
		buf_clear(&left.bytes);
		CHECK_OK(chunk_filter_types(&o.view, keeps_eleven, NULL, &left.scratch,
					    &left.bytes));
		CHECK_OK(chunk_open(buf_view(&left.bytes), &left.arena, &left.view));
		CHECK_INT(left.view.head.column_count, 1);
		CHECK_INT(left.view.head.groups, o.view.head.groups);
		CHECK_INT(left.view.head.links, o.view.head.links);
		CHECK_OK(chunk_sum(&left.view, chunk_find(&left.view, 11), &s));
		for (uint32_t stack = 0; stack < STACKS; stack++)
			CHECK_INT(sums[stack], made_rows_sum(&m, 11, stack));
	}
}

static enum err encode_once(const struct chunk_rows *rows)
{
	OPENED(o);

	return encode_and_open(&o, rows);
}

TEST(encoding_copes_with_failing_allocations)
{
	struct made_rows m;
	uint64_t state = 8;

	made_rows_fill(&m, &state, 31, STACKS);
	ALLOC_SWEEP(encode_once(&m.rows));
}
