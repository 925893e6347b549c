/*
 * Benchmarks that need the library, not the program: each prints one line of JSON for bench/run.
 *
 *	micro decode FILE...     pprof decode + intern on a warm dictionary, against inflating
 *	micro intern             stacks of depth 25 interned per second, new and known ones
 *	micro convert FILE       pprof, OTLP and folded into each other, seconds and plain bytes
 *	micro otlp FILE          decode one OTLP file again and again, for a peer to compare with
 *	micro pprof FILE         the same for pprof, of the plain bytes
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "format/format.h"

#define ROUNDS 15

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "micro: %s: %s\n", what, why);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static struct buf slurp(const char *path)
{
	struct buf b = BUF_INIT((size_t)2 << 30);
	struct fault fault = {0};

	if (file_read(path, &b, &fault))
		die(path, fault.text);
	return b;
}

static struct buf inflate_file(const struct buf *packed)
{
	struct limits limits = LIMITS_DEFAULT;
	struct fault fault = {0};
	const char *name;
	struct buf plain;

	limits.max_bytes = (size_t)2 << 30;
	if (decompress(buf_view(packed), &limits, &plain, &name, &fault))
		die("decompress", fault.text);
	return plain;
}

static struct buf inflated(const char *path)
{
	struct buf packed = slurp(path), plain = inflate_file(&packed);

	buf_release(&packed);
	return plain;
}

static struct reading reading_of(struct dict *d, struct profile_list *list)
{
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};

	r.limits.max_bytes = (size_t)2 << 30;
	return r;
}

static void read_plain(const struct format *f, struct str bytes, struct dict *d,
		       struct profile_list *list)
{
	struct reading r = reading_of(d, list);

	if (f->read(bytes, &r))
		die(f->name, r.fault.text);
	notes_release(&r.notes);
}

static void bench_decode(int count, char **paths)
{
	struct dict d;
	struct buf *files = calloc((size_t)count, sizeof(*files));
	double *inflating = calloc((size_t)count * ROUNDS, sizeof(double));
	double *decoding = calloc((size_t)count * ROUNDS, sizeof(double));
	size_t n = 0;

	if (!files || !inflating || !decoding || dict_init(&d, hash_random_seed()))
		die("decode", "out of memory");
	for (int i = 0; i < count; i++)
		files[i] = slurp(paths[i]);
	/* The first two rounds fill the dictionary. */
	for (int round = -2; round < ROUNDS; round++) {
		for (int i = 0; i < count; i++) {
			struct profile_list list = {0};
			double start = cpu_seconds(), inflated, done;
			struct buf plain = inflate_file(&files[i]);

			inflated = cpu_seconds();
			read_plain(&formats[FORMAT_PPROF], buf_view(&plain), &d, &list);
			done = cpu_seconds();
			profile_list_release(&list);
			buf_release(&plain);
			if (round < 0)
				continue;
			inflating[n] = inflated - start;
			decoding[n++] = done - inflated;
		}
	}
	printf("{\"inflate_us\": %.1f, \"decode_us\": %.1f, \"stacks\": %zu, \"frames\": %zu}\n",
	       median(inflating, n) * 1e6, median(decoding, n) * 1e6, d.stacks.entries.n,
	       d.frames.n);
}

#define INTERN_STACKS 1000000
#define INTERN_DEPTH  25

static void bench_intern(void)
{
	struct dict d;
	uint32_t frames[5000], stack[INTERN_DEPTH], id;
	uint64_t seed;
	double start, fresh, known;
	char name[64];

	if (dict_init(&d, hash_random_seed()))
		die("intern", "out of memory");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "example.com/service.function%u", i);
		if (dict_named_frame(&d, str_of(name), &frames[i]))
			die("intern", "out of memory");
	}
	start = cpu_seconds();
	for (int pass = 0; pass < 2; pass++) {
		seed = 12345;
		for (unsigned i = 0; i < INTERN_STACKS; i++) {
			for (unsigned k = 0; k < INTERN_DEPTH; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				stack[k] = frames[(seed >> 33) % 5000];
			}
			if (dict_stack(&d, stack, INTERN_DEPTH, &id))
				die("intern", "out of memory");
		}
		if (!pass)
			fresh = cpu_seconds() - start;
	}
	known = cpu_seconds() - start - fresh;
	printf("{\"new_per_s\": %.0f, \"known_per_s\": %.0f, \"stacks\": %zu}\n",
	       INTERN_STACKS / fresh, INTERN_STACKS / known, d.stacks.entries.n);
}

/* CPU seconds of one conversion, by step; `all` has the freeing in it too. */
struct steps {
	double read, write, all;
};

/* One conversion: bytes of one format to bytes of another, as `vestal convert` does it. */
static struct steps convert_once(const struct format *from, struct str bytes,
				 const struct format *to, struct buf *out)
{
	struct dict d;
	struct profile_list list = {0};
	struct writing w = {.list = &list, .type = -1, .compress = 0};
	double start = cpu_seconds();
	struct steps took;

	if (dict_init(&d, hash_random_seed()))
		die("convert", "out of memory");
	read_plain(from, bytes, &d, &list);
	took.read = cpu_seconds() - start;
	buf_clear(out);
	if (to && format_write(to, &w, out))
		die(to->name, w.fault.text);
	took.write = cpu_seconds() - start - took.read;
	notes_release(&w.notes);
	profile_list_release(&list);
	dict_release(&d);
	took.all = cpu_seconds() - start;
	return took;
}

/* Medians, each step for itself. */
static struct steps convert_time(const struct format *from, const struct buf *in,
				 const struct format *to, struct buf *out)
{
	double read[ROUNDS], write[ROUNDS], all[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct steps took = convert_once(from, buf_view(in), to, out);

		read[i] = took.read;
		write[i] = took.write;
		all[i] = took.all;
	}
	return (struct steps){median(read, ROUNDS), median(write, ROUNDS), median(all, ROUNDS)};
}

static void print_conversion(const char *name, struct steps took, const struct buf *in,
			     const struct buf *out, const char *end)
{
	printf("\"%s\": {\"in_mb\": %.3f, \"out_mb\": %.3f, \"s\": %.6f, \"read_s\": %.6f, "
	       "\"write_s\": %.6f}%s",
	       name, (double)in->n / 1e6, (double)out->n / 1e6, took.all, took.read, took.write,
	       end);
}

/* A measure beside the readers, not a bound: every number of the bytes looked at once, byte after
 * byte. A reader that takes many bytes at a time may well be faster. */
static uint64_t scan_numbers(const struct buf *in)
{
	const uint8_t *p = (const uint8_t *)in->data, *end = p + in->n;
	uint64_t sum = 0, value = 0;
	unsigned shift = 0;

	for (; p < end; p++) {
		value |= (uint64_t)(*p & 0x7f) << (shift & 63);
		shift += 7;
		if (*p >= 0x80)
			continue;
		sum += value;
		value = 0;
		shift = 0;
	}
	return sum;
}

/* The same for writers: a copy. */
static uint64_t copy_bytes(const struct buf *in)
{
	static struct buf copy = BUF_INIT((size_t)2 << 30);

	buf_clear(&copy);
	buf_append(&copy, in->data, in->n);
	return copy.n;
}

static double floor_time(uint64_t (*work)(const struct buf *in), const struct buf *in)
{
	static volatile uint64_t keep;
	double seconds[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = cpu_seconds();

		keep = keep + work(in);
		seconds[i] = cpu_seconds() - start;
	}
	return median(seconds, ROUNDS);
}

/* Bytes are counted plain on both sides: nothing is inflated or deflated here. */
static void bench_convert(const char *path)
{
	const struct format *pprof = &formats[FORMAT_PPROF], *otlp = &formats[FORMAT_OTLP];
	const struct format *folded = &formats[FORMAT_FOLDED];
	struct buf plain = inflated(path);
	struct buf as_otlp = BUF_INIT((size_t)2 << 30), as_folded = BUF_INIT((size_t)2 << 30);
	struct buf as_pprof = BUF_INIT((size_t)2 << 30);
	struct steps took = convert_time(pprof, &plain, otlp, &as_otlp);

	printf("{");
	print_conversion("pprof to OTLP", took, &plain, &as_otlp, ", ");
	took = convert_time(otlp, &as_otlp, pprof, &as_pprof);
	print_conversion("OTLP to pprof", took, &as_otlp, &as_pprof, ", ");
	took = convert_time(pprof, &plain, folded, &as_folded);
	print_conversion("pprof to folded", took, &plain, &as_folded, ", ");
	took = convert_time(folded, &as_folded, pprof, &as_pprof);
	print_conversion("folded to pprof", took, &as_folded, &as_pprof, ", ");
	printf("\"floor\": {\"mb\": %.3f, \"scan_s\": %.6f, \"copy_s\": %.6f}}\n",
	       (double)as_otlp.n / 1e6, floor_time(scan_numbers, &as_otlp),
	       floor_time(copy_bytes, &as_otlp));
}

/* Into a dictionary that has seen the file before, as one of a server has. */
static double read_known(const struct format *f, const struct buf *in)
{
	double seconds[ROUNDS];
	struct dict d;

	if (dict_init(&d, hash_random_seed()))
		die("otlp", "out of memory");
	for (int i = -1; i < ROUNDS; i++) {
		struct profile_list list = {0};
		double start = cpu_seconds();

		read_plain(f, buf_view(in), &d, &list);
		profile_list_release(&list);
		if (i >= 0)
			seconds[i] = cpu_seconds() - start;
	}
	dict_release(&d);
	return median(seconds, ROUNDS);
}

static void bench_read(const struct format *f, struct buf in)
{
	struct buf none = BUF_INIT(0);
	double mb = (double)in.n / 1e6;

	printf("{\"mb\": %.3f, \"mb_per_s\": %.1f, \"known_mb_per_s\": %.1f}\n", mb,
	       mb / convert_time(f, &in, NULL, &none).all, mb / read_known(f, &in));
}

/* What a round has freed serves the next, as in a server, and as the heap of a Go program does:
 * the first round pays for fresh pages, and the median is of the others. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv)
{
	keep_memory();
	if (argc > 2 && strcmp(argv[1], "decode") == 0)
		bench_decode(argc - 2, argv + 2);
	else if (argc == 2 && strcmp(argv[1], "intern") == 0)
		bench_intern();
	else if (argc == 3 && strcmp(argv[1], "convert") == 0)
		bench_convert(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "otlp") == 0)
		bench_read(&formats[FORMAT_OTLP], slurp(argv[2]));
	else if (argc == 3 && strcmp(argv[1], "pprof") == 0)
		bench_read(&formats[FORMAT_PPROF], inflated(argv[2]));
	else
		die("usage",
		    "micro decode FILE... | intern | convert FILE | otlp FILE | pprof FILE");
	return 0;
}
