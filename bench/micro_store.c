/*
 * The store's codecs and answers on uploads of one service (genprof service): bytes per entry, and
 * what a profile costs after it is decoded. Prints one line of JSON.
 *
 *	micro_store FILE...      pprof files, as many as an hour has (480)
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "format/format.h"
#include "store/answer.h"

#define ROUNDS	   9
#define PER_BLOCK  80 /* uploads of ten minutes, two instances, every 15 s */
#define MAX_BYTES  ((size_t)2 << 30)
#define START	   (20000 * NS_PER_DAY + 3600 * NS_PER_S)
#define UPLOAD_GAP (7500 * NS_PER_MS)

struct bench {
	struct partition *p;
	struct profile_list own; /* over the partition's dictionary */
	struct profile_list foreign;
	struct dict dict; /* of the foreign ones */
	struct buf *chunks;
	size_t n;
	uint64_t entries;
	struct buf blocks[64], rollup;
	size_t block_count;
	unsigned mode; /* what the source shows: 0 chunks, 1 blocks, 2 the roll-up */
};

static void die(const char *what)
{
	fprintf(stderr, "micro_store: %s\n", what);
	exit(1);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double least(const double *v, size_t n)
{
	double least = v[0];

	for (size_t i = 1; i < n; i++)
		least = v[i] < least ? v[i] : least;
	return least;
}

static void read_file(const char *path, struct dict *d, struct profile_list *list)
{
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};
	struct buf bytes = BUF_INIT(MAX_BYTES);

	r.limits.max_bytes = MAX_BYTES;
	if (file_read(path, &bytes, NULL) || format_read(buf_view(&bytes), NULL, &r, NULL))
		die(path);
	notes_release(&r.notes);
	buf_release(&bytes);
}

static const struct str types[] = {STR("process_cpu:samples:count:cpu:nanoseconds"),
				   STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds")};

/* Two instances take turns. */
static void encode(struct bench *b, const struct profile *profile, size_t i, struct buf *out)
{
	struct label_pair labels[] = {{STR("instance"), i % 2 ? STR("a") : STR("b")},
				      {STR("service_name"), STR("api")}};
	struct series_profile s = {
		.labels = labels,
		.label_count = 2,
		.types = types,
		.profile = profile,
		.time_ns = START + (int64_t)i * UPLOAD_GAP,
		.duration_ns = 15 * NS_PER_S,
	};
	struct encoded_chunk info;

	buf_clear(out);
	if (partition_encode(b->p, &s, &store_options_default.limits, out, &info, NULL))
		die("encode");
}

static double encode_all(struct bench *b, const struct profile_list *list)
{
	double v[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = cpu_seconds();

		for (size_t i = 0; i < list->n; i++)
			encode(b, list->v[i], i, &b->chunks[i]);
		v[round] = (cpu_seconds() - start) / (double)list->n;
	}
	return least(v, ROUNDS);
}

static struct chunk_view *open_chunks(const struct bench *b, struct arena *arena)
{
	struct chunk_view *views = arena_zalloc(arena, b->n, sizeof(*views));

	for (size_t i = 0; i < b->n; i++)
		if (!views || chunk_open(buf_view(&b->chunks[i]), arena, &views[i]))
			die("chunk_open");
	return views;
}

static double make_blocks(struct bench *b, size_t per_block, size_t *ret_bytes)
{
	struct arena arena = {0};
	struct chunk_view *views = open_chunks(b, &arena);
	double start = cpu_seconds();

	*ret_bytes = b->block_count = 0;
	for (size_t first = 0; first < b->n && b->block_count < 64; first += per_block) {
		struct chunk_view *pointers[4096];
		struct buf *out = &b->blocks[b->block_count++];
		size_t n = b->n - first < per_block ? b->n - first : per_block;

		for (size_t i = 0; i < n && i < 4096; i++)
			pointers[i] = &views[first + i];
		buf_init(out, MAX_BYTES);
		if (block_encode(pointers, n, out))
			die("block_encode");
		*ret_bytes += out->n;
	}
	start = cpu_seconds() - start;
	arena_release(&arena);
	return start / (double)b->n;
}

static void make_rollup(struct bench *b)
{
	static const bool gauges[2];
	struct arena arena = {0};
	struct chunk_view *views = open_chunks(b, &arena);
	struct rollup *r;

	if (rollup_new(START, 3600 * NS_PER_S, &r))
		die("rollup");
	for (size_t i = 0; i < b->n; i++)
		if (rollup_add(r, &views[i], gauges, 2, (uint32_t)b->p->dict.stacks.entries.n))
			die("rollup_add");
	buf_init(&b->rollup, MAX_BYTES);
	if (rollup_finish(r, &b->rollup))
		die("rollup_finish");
	rollup_free(r);
	arena_release(&arena);
}

/* Entries per second from memory, chunks already opened. */
static double sum_speed(const struct bench *b)
{
	struct arena arena = {0};
	struct chunk_view *views = open_chunks(b, &arena);
	uint32_t stacks = (uint32_t)b->p->dict.stacks.entries.n;
	struct sums sums = {.v = arena_zalloc(&arena, stacks, sizeof(int64_t)), .n = stacks};
	double v[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = cpu_seconds();

		sums.bound = 0;
		for (size_t i = 0; i < b->n; i++)
			if (chunk_sum(&views[i], &views[i].head.columns[1], &sums))
				die("chunk_sum");
		v[round] = cpu_seconds() - start;
	}
	arena_release(&arena);
	return (double)b->entries / least(v, ROUNDS);
}

static enum err show_partition(void *engine, struct str tenant, const struct selection *selection,
			       int64_t since_ns, struct ask *ask,
			       enum err (*each)(void *, struct partition *), void *context)
{
	struct bench *b = engine;

	(void)tenant;
	(void)since_ns;
	(void)selection;
	(void)ask;
	return each(context, b->p);
}

static enum err show_block(const struct buf *bytes, const struct scan *scan)
{
	struct block block;
	enum err e = block_open(buf_view(bytes), MAX_BYTES, &block);

	if (e)
		return e;
	for (size_t i = 0; !e && i < block.n; i++)
		e = scan->each(scan->context, &block.chunks[i]);
	block_release(&block);
	return e;
}

static enum err show_chunks(void *engine, struct partition *p, const struct scan *scan)
{
	struct bench *b = engine;

	(void)p;
	if (b->mode == 2)
		return show_block(&b->rollup, scan);
	for (size_t i = 0; b->mode == 1 && i < b->block_count; i++)
		TRY(show_block(&b->blocks[i], scan));
	for (size_t i = 0; b->mode == 0 && i < b->n; i++) {
		struct arena arena = {0};
		struct chunk_view v;
		enum err e = chunk_open(buf_view(&b->chunks[i]), &arena, &v);

		if (!e)
			e = scan->each(scan->context, &v);
		arena_release(&arena);
		if (e)
			return e;
	}
	return ERR_OK;
}

static double merge_ms(struct bench *b, unsigned mode)
{
	struct source source = {.engine = b,
				.seed = b->p->dict.seed,
				.partitions = show_partition,
				.scan = show_chunks};
	struct selection s = {.type = types[1], .until_ns = INT64_MAX};
	double v[ROUNDS];

	b->mode = mode;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct profile dst;
		struct dict d;
		double start = cpu_seconds();

		if (dict_init(&d, b->p->dict.seed))
			die("dict_init");
		profile_init(&dst, &d);
		if (answer_merge(&source, STR("t"), &s, NULL, 0, NULL, &dst) || !dst.row_count)
			die("merge");
		profile_release(&dst);
		dict_release(&d);
		v[round] = cpu_seconds() - start;
	}
	return least(v, ROUNDS) * 1e3;
}

static size_t dictionary_bytes(struct bench *b, int level, double *ret_load_ms)
{
	struct buf out = BUF_INIT(MAX_BYTES);
	struct partition *again = NULL;
	size_t n;
	double start;

	if (partition_delta_encode(b->p, &b->p->persisted, level, &out) ||
	    partition_new(STR("t"), STR("api"), 0, b->p->dict.seed, NULL, &again))
		die("dictionary");
	start = cpu_seconds();
	if (partition_delta_apply(again, buf_view(&out)))
		die("dictionary again");
	*ret_load_ms = (cpu_seconds() - start) * 1e3;
	n = out.n;
	buf_release(&out);
	partition_free(again);
	return n;
}

static void prepare(struct bench *b, int count, char **paths)
{
	size_t bytes = 0;

	if (partition_new(STR("t"), STR("api"), 20000, 7, NULL, &b->p) || dict_init(&b->dict, 7))
		die("out of memory");
	b->n = (size_t)count;
	b->chunks = calloc(b->n, sizeof(*b->chunks));
	for (int i = 0; b->chunks && i < count; i++) {
		read_file(paths[i], &b->p->dict, &b->own);
		read_file(paths[i], &b->dict, &b->foreign);
		buf_init(&b->chunks[i], MAX_BYTES);
		b->entries += b->own.v[i]->row_count;
	}
	printf("{\"entries\": %llu, \"stacks\": %zu, \"encode_us\": %.2f, \"foreign_us\": %.2f, ",
	       (unsigned long long)b->entries, b->p->dict.stacks.entries.n,
	       encode_all(b, &b->own) * 1e6, encode_all(b, &b->foreign) * 1e6);
	for (size_t i = 0; i < b->n; i++)
		bytes += b->chunks[i].n;
	printf("\"chunk_bytes_per_entry\": %.3f, ", (double)bytes / (double)b->entries);
}

int main(int argc, char **argv)
{
	static struct bench b;
	size_t bytes, packed;
	double load, us;

	if (argc < 2)
		die("usage: micro_store FILE...");
	mem_keep(128u << 20); /* as the server does */
	prepare(&b, argc - 1, argv + 1);
	us = make_blocks(&b, b.n, &bytes) * 1e6;
	printf("\"hour_block_bytes_per_entry\": %.3f, \"hour_block_us_per_chunk\": %.2f, ",
	       (double)bytes / (double)b.entries, us);
	us = make_blocks(&b, PER_BLOCK, &bytes) * 1e6;
	printf("\"block_bytes_per_entry\": %.3f, \"block_us_per_chunk\": %.2f, ",
	       (double)bytes / (double)b.entries, us);
	make_rollup(&b);
	packed = dictionary_bytes(&b, 3, &load);
	printf("\"rollup_bytes\": %zu, \"dictionary_bytes\": %zu, \"dictionary_load_ms\": %.2f, ",
	       b.rollup.n, packed, load);
	printf("\"sum_entries_per_s\": %.0f, \"merge_chunks_ms\": %.2f, \"merge_blocks_ms\": %.2f, "
	       "\"merge_rollup_ms\": %.2f}\n",
	       sum_speed(&b), merge_ms(&b, 0), merge_ms(&b, 1), merge_ms(&b, 2));
	return 0;
}
