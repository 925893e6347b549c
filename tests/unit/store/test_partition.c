#include "../model/profile_maker.h"

#include "base/arena.h"
#include "store/partition.h"

static const struct store_limits limits = {
	.max_series = 100,
	.max_labels = 8,
	.max_label_name = 20,
	.max_label_value = 40,
	.max_depth = 16,
	.max_stacks = 1000,
};

static void drop_partition(struct partition **p)
{
	partition_free(*p);
}

#define PARTITION(name)                                        \
	CLEANUP(drop_partition) struct partition *name = NULL; \
	CHECK_OK(partition_new(STR("t"), STR("api"), 20000, 7, NULL, &name))

static const struct label_pair labels[] = {{STR("pod"), STR("a")},
					   {STR("service_name"), STR("api")}};
static const struct str types[] = {STR("process_cpu:samples:count:cpu:nanoseconds")};

static struct series_profile address(const struct profile *p)
{
	return (struct series_profile){.labels = labels,
				       .label_count = 2,
				       .types = types,
				       .profile = p,
				       .time_ns = 20000 * NS_PER_DAY,
				       .duration_ns = 1000};
}

/* Encodes into a partition and says how much one stack got, by its folded text. */
static enum err encode(struct partition *p, const struct profile *profile, struct buf *out,
		       struct encoded_chunk *ret)
{
	struct series_profile s = address(profile);

	return partition_encode(p, &s, &limits, out, ret, NULL);
}

static int64_t value_of(struct partition *p, const struct buf *bytes, const char *folded)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct chunk_view v;
	int64_t sums[1000] = {0};
	struct sums s = {.v = sums, .n = (uint32_t)p->dict.stacks.entries.n};
	uint32_t stack;

	if (chunk_open(buf_view(bytes), &arena, &v) || chunk_sum(&v, &v.head.columns[0], &s) ||
	    maker_stack(&p->dict, folded, &stack) || stack >= s.n)
		return -1;
	return sums[stack];
}

TEST(profiles_of_any_dictionary_land_on_the_same_stacks)
{
	PARTITION(p);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	MADE(other);
	struct encoded_chunk chunk;
	struct profile own;

	profile_init(&own, &p->dict);
	CHECK_OK(profile_add_type(&own, STR("samples"), STR("count")));
	CHECK_OK(maker_row(&own, "main;work@w.c:3;leaf", 5));
	CHECK_OK(encode(p, &own, &bytes, &chunk));
	profile_release(&own);
	CHECK_INT(value_of(p, &bytes, "main;work@w.c:3;leaf"), 5);

	CHECK_OK(made_init(&other, 7));
	CHECK_OK(maker_row(&other.p, "main;new", 2));
	CHECK_OK(maker_row(&other.p, "main;work@w.c:3;leaf", 9));
	buf_clear(&bytes);
	CHECK_OK(encode(p, &other.p, &bytes, &chunk));
	CHECK_INT(value_of(p, &bytes, "main;work@w.c:3;leaf"), 9);
	CHECK_INT(value_of(p, &bytes, "main;new"), 2);
	CHECK_INT(p->series.n, 1);
	CHECK_INT(p->dict.stacks.entries.n, 3);
}

TEST(a_dictionary_of_another_seed_is_refused)
{
	PARTITION(p);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	MADE(other);
	struct encoded_chunk chunk;

	CHECK_OK(made_init(&other, 8));
	CHECK_ERR(encode(p, &other.p, &bytes, &chunk), ERR_BAD_ARGUMENT);
}

TEST(a_stack_that_is_too_deep_keeps_its_root_side)
{
	PARTITION(p);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	MADE(other);
	struct encoded_chunk chunk;

	CHECK_OK(made_init(&other, 7));
	CHECK_OK(maker_row(&other.p, "a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q;r", 3));
	CHECK_OK(maker_row(&other.p, "a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;s", 4));
	CHECK_OK(encode(p, &other.p, &bytes, &chunk));
	CHECK_INT(chunk.cut_stacks, 2);
	CHECK_INT(value_of(p, &bytes, "a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p"), 7);
}

TEST(more_stacks_than_the_limit_are_refused_and_known_ones_still_taken)
{
	PARTITION(p);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	MADE(first);
	MADE(second);
	struct store_limits few = limits;
	struct series_profile s;
	struct encoded_chunk chunk;
	struct fault fault = {0};

	few.max_stacks = 3;
	CHECK_OK(made_init(&first, 7));
	CHECK_OK(maker_row(&first.p, "a", 1));
	CHECK_OK(maker_row(&first.p, "b", 1));
	CHECK_OK(made_init(&second, 7));
	CHECK_OK(maker_row(&second.p, "c", 1));
	s = address(&first.p);
	CHECK_OK(partition_encode(p, &s, &few, &bytes, &chunk, &fault));
	s = address(&second.p);
	CHECK_ERR(partition_encode(p, &s, &few, &bytes, &chunk, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "different stacks") != NULL);
	s = address(&first.p);
	CHECK_OK(partition_encode(p, &s, &few, &bytes, &chunk, &fault));
}

/* A partition with some of everything. */
static enum err fill(struct partition *p, uint64_t *state, uint32_t rows)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);
	MADE(m);
	struct encoded_chunk chunk;
	struct mapping mapping = {.start = 4096, .limit = 8192};
	struct frame frame = {.address = 5000, .line = -3, .kind = KIND_GO};
	struct row row = {0};
	uint32_t id;

	TRY(made_init(&m, 7));
	TRY(maker_random(&m.p, state, rows, 60, 20, 1, 9));
	TRY(dict_text(&m.dict, "/bin/api", &mapping.file));
	TRY(dict_mapping(&m.dict, &mapping, &frame.mapping));
	TRY(dict_frame(&m.dict, &frame, &id));
	TRY(dict_stack(&m.dict, &id, 1, &row.stack));
	TRY(profile_add(&m.p, &row, (int64_t[]){1}));
	return encode(p, &m.p, &bytes, &chunk);
}

static bool partitions_equal(const struct partition *a, const struct partition *b)
{
	struct partition_mark x = partition_mark(a), y = partition_mark(b);

	if (!partition_mark_equal(&x, &y))
		return false;
	for (uint32_t i = 0; i < x.stacks; i++)
		if (stack_hash(&a->dict, i) != stack_hash(&b->dict, i))
			return false;
	for (uint32_t i = 0; i < x.label_sets; i++)
		if (a->dict.label_sets.entries.v[i].hash != b->dict.label_sets.entries.v[i].hash)
			return false;
	for (uint32_t i = 0; i < x.series; i++)
		if (a->series.v[i].hash != b->series.v[i].hash)
			return false;
	return true;
}

static enum err copy_by_deltas(const struct partition *from, struct partition *to, int level)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);

	TRY(partition_delta_encode(from, &to->persisted, level, &bytes));
	return partition_delta_apply(to, buf_view(&bytes));
}

TEST(a_dictionary_comes_back_from_its_deltas)
{
	PARTITION(p);
	PARTITION(q);
	uint64_t state = 21;

	for (unsigned round = 0; round < 6; round++) {
		CHECK_OK(fill(p, &state, round % 2 ? 5 : 90));
		CHECK_OK(copy_by_deltas(p, q, round % 3 ? 0 : 3));
		CHECK(partitions_equal(p, q));
	}
}

TEST(a_delta_applies_only_where_it_belongs)
{
	PARTITION(p);
	PARTITION(q);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);
	uint64_t state = 22;

	CHECK_OK(fill(p, &state, 50));
	CHECK_OK(partition_delta_encode(p, &p->persisted, 0, &bytes));
	CHECK_OK(partition_delta_apply(q, buf_view(&bytes)));
	CHECK_ERR(partition_delta_apply(q, buf_view(&bytes)), ERR_CORRUPT);
	bytes.data[bytes.n / 2] ^= 1;
	CHECK_ERR(partition_delta_apply(p, buf_view(&bytes)), ERR_CORRUPT);
}

TEST(labels_over_their_limits_are_refused_with_the_reason)
{
	PARTITION(p);
	struct label_pair many[10], long_value[] = {{STR("a"), {NULL, 41}}};
	char text[64];
	struct fault fault = {0};
	uint32_t id;

	memset(text, 'x', sizeof(text));
	long_value[0].value.p = text;
	for (unsigned i = 0; i < 10; i++)
		many[i] = (struct label_pair){str_n(&"abcdefghij"[i], 1), STR("v")};
	CHECK_ERR(partition_series(p, many, 10, &limits, &id, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "10 labels") != NULL);
	CHECK_ERR(partition_series(p, long_value, 1, &limits, &id, &fault), ERR_TOO_LARGE);
	CHECK_ERR(partition_series(p, (struct label_pair[]){many[1], many[0]}, 2, &limits, &id,
				   &fault),
		  ERR_BAD_ARGUMENT);
}

static enum err whole_way(void)
{
	struct partition *p = NULL, *q = NULL;
	uint64_t state = 23;
	enum err e = partition_new(STR("t"), STR("api"), 1, 7, NULL, &p);

	if (!e)
		e = partition_new(STR("t"), STR("api"), 1, 7, NULL, &q);
	if (!e)
		e = fill(p, &state, 70);
	if (!e)
		e = copy_by_deltas(p, q, 3);
	partition_free(p);
	partition_free(q);
	return e;
}

TEST(partitions_cope_with_failing_allocations)
{
	ALLOC_SWEEP(whole_way());
}
