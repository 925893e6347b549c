/*
 * Makes pprof files for the benchmarks, with an encoder of its own (not the one under test).
 *
 *	genprof big OUT SAMPLES FUNCTIONS DEPTH       one large profile, nearly all stacks distinct
 *	genprof service DIR FILES STACKS FUNCTIONS [SEED]    FILES uploads of one service; with a
 *	                                             SEED another service, and without a time
 *
 * Stacks are walks through a fixed random call graph, so that they share prefixes the way real
 * ones do. An upload of a service picks about 600 of its STACKS by Zipf's law and numbers
 * locations, functions and strings in order of first use, as Go's runtime does. Same arguments,
 * same bytes.
 *
 * What comes out, as a mean per upload, beside what was measured of a Go service's uploads:
 *
 *	               gzip     plain    stacks  location ids  locations  functions  strings
 *	4000 1500      74 kB    204 kB   611     18.4 k        2,392      1,124      1,872
 *	  a service    75.6 kB  204 kB   596     18 k          2,291      1,127      1,886
 *	40000 6000     176 kB   512 kB   806     24.2 k        5,260      3,147      5,475
 *	  10x stacks            497 kB   825                   5,425                 5,098
 */
#include <libdeflate.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH    128
#define CALLEES	     8
#define UPLOAD_PICKS 1400
#define LINES	     4	 /* locations of a function */
#define SKEW	     2.8 /* of the functions of a service: few are in most stacks */
#define BRANCH	     14	 /* frames at most by which a stack of a service is new */

static uint64_t state = 0x1234567;
static int timeless; /* whoever uploads it says when it was */

static uint64_t rnd(void)
{
	state += 0x9e3779b97f4a7c15u;
	uint64_t z = state;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct out {
	uint8_t *p;
	size_t n, cap;
};

static void put(struct out *o, const void *data, size_t n)
{
	if (o->n + n > o->cap) {
		o->cap = (o->cap + n) * 2;
		o->p = realloc(o->p, o->cap);
		if (!o->p)
			abort();
	}
	memcpy(o->p + o->n, data, n);
	o->n += n;
}

static void varint(struct out *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	put(o, bytes, n);
}

static void field_int(struct out *o, unsigned field, uint64_t v)
{
	varint(o, field << 3);
	varint(o, v);
}

static void field_bytes(struct out *o, unsigned field, const void *data, size_t n)
{
	varint(o, field << 3 | 2);
	varint(o, n);
	put(o, data, n);
}

static void die(const char *what)
{
	fprintf(stderr, "genprof: %s\n", what);
	exit(1);
}

/* The program that is "profiled": each function calls a few others, at a few lines. */
static unsigned functions;

static unsigned callee(unsigned f, unsigned k)
{
	uint64_t h = (f * 2654435761u + k * 40503u + 977) * 0x9e3779b97f4a7c15u;

	return (unsigned)((h >> 33) % functions);
}

/* location = function and one of a few lines */
static void make_stack(unsigned depth, uint32_t *locations)
{
	unsigned f = (unsigned)(rnd() % 4);

	for (unsigned i = 0; i < depth; i++) {
		uint64_t r = rnd();

		locations[depth - 1 - i] = f * LINES + (uint32_t)(r & 3 & r >> 2);
		/* Early steps rarely branch: programs have a trunk. */
		f = callee(f, i < 6 ? (unsigned)(r >> 8) % 2 : (unsigned)(r >> 8) % CALLEES);
	}
}

/* Half of the files hold two functions, half of them one. */
static uint32_t file_of(uint32_t f)
{
	return f * 9 / 16;
}

/* In order of first use: what got which number, and what has number 1, 2, 3 … */
struct numbers {
	uint32_t *given; /* 0 = not yet */
	uint32_t *order;
	uint32_t n;
};

struct numbering {
	struct numbers locations, functions, files;
};

static uint32_t number(struct numbers *m, uint32_t id)
{
	if (!m->given[id]) {
		m->order[m->n++] = id;
		m->given[id] = m->n;
	}
	return m->given[id];
}

static void put_location(struct out *o, const struct numbering *m, uint32_t position)
{
	static struct out one, line;
	uint32_t id = m->locations.order[position];

	one.n = line.n = 0;
	field_int(&line, 1, m->functions.given[id / LINES]);
	field_int(&line, 2, 10 + id % LINES * 7 + id / LINES % 500);
	field_int(&one, 1, position + 1);
	field_int(&one, 2, 1);
	field_int(&one, 3, 0x400000 + (uint64_t)id * 24);
	field_bytes(&one, 4, line.p, line.n);
	field_bytes(o, 4, one.p, one.n);
}

static const char *const fixed_strings[] = {"",	   "samples",	  "count",
					    "cpu", "nanoseconds", "/srv/bin/service"};
#define FIXED_STRINGS 6

/* Names of functions stand before names of files. */
static void put_function(struct out *o, const struct numbering *m, uint32_t position)
{
	static struct out one;
	uint32_t f = m->functions.order[position], name = FIXED_STRINGS + position;

	one.n = 0;
	field_int(&one, 1, position + 1);
	field_int(&one, 2, name);
	field_int(&one, 3, name);
	field_int(&one, 4, FIXED_STRINGS + m->functions.n + m->files.given[file_of(f)] - 1);
	field_int(&one, 5, 8 + f % 500);
	field_bytes(o, 5, one.p, one.n);
}

static void put_strings(struct out *o, const struct numbering *m)
{
	char text[160];
	int n;

	for (unsigned i = 0; i < FIXED_STRINGS; i++)
		field_bytes(o, 6, fixed_strings[i], strlen(fixed_strings[i]));
	for (uint32_t i = 0; i < m->functions.n; i++) {
		uint32_t f = m->functions.order[i];

		n = snprintf(text, sizeof(text),
			     "example.com/service/package%u/module%u.(*%x).Method%u", f % 97,
			     f % 331, f * 2654435761u >> 8, f);
		field_bytes(o, 6, text, (size_t)n);
	}
	for (uint32_t i = 0; i < m->files.n; i++) {
		uint32_t f = m->files.order[i];

		n = snprintf(text, sizeof(text), "/srv/build/service/package%u/module%u/file%u.go",
			     f % 97, f % 331, f);
		field_bytes(o, 6, text, (size_t)n);
	}
}

static void put_tables(struct out *o, struct numbering *m)
{
	for (uint32_t i = 0; i < m->functions.n; i++)
		number(&m->files, file_of(m->functions.order[i]));
	for (uint32_t i = 0; i < m->locations.n; i++)
		put_location(o, m, i);
	for (uint32_t i = 0; i < m->functions.n; i++)
		put_function(o, m, i);
	put_strings(o, m);
}

static void put_header(struct out *o)
{
	static const uint8_t samples[] = {8, 1, 16, 2}, cpu[] = {8, 3, 16, 4};
	struct out one = {0};

	field_bytes(o, 1, samples, sizeof(samples));
	field_bytes(o, 1, cpu, sizeof(cpu));
	field_int(&one, 1, 1);
	field_int(&one, 2, 0x400000);
	field_int(&one, 3, 0x4000000);
	field_int(&one, 5, 5);
	field_int(&one, 7, 1);
	field_bytes(o, 3, one.p, one.n);
	if (!timeless)
		field_int(o, 9, 1762000000000000000);
	field_int(o, 10, 15000000000);
	field_bytes(o, 11, cpu, sizeof(cpu));
	field_int(o, 12, 10000000);
	free(one.p);
}

static void put_sample(struct out *o, struct numbering *m, const uint32_t *stack, unsigned depth,
		       uint64_t count)
{
	static struct out ids, values, sample;

	ids.n = values.n = sample.n = 0;
	for (unsigned i = 0; i < depth; i++) {
		varint(&ids, number(&m->locations, stack[i]));
		number(&m->functions, stack[i] / LINES);
	}
	varint(&values, count);
	varint(&values, count * 10000000);
	field_bytes(&sample, 1, ids.p, ids.n);
	field_bytes(&sample, 2, values.p, values.n);
	field_bytes(o, 2, sample.p, sample.n);
}

static void numbers_reset(struct numbers *m, size_t size)
{
	if (!m->given) {
		m->given = malloc(size * sizeof(uint32_t));
		m->order = malloc(size * sizeof(uint32_t));
		if (!m->given || !m->order)
			die("out of memory");
	}
	memset(m->given, 0, size * sizeof(uint32_t));
	m->n = 0;
}

static void numbering_reset(struct numbering *m)
{
	numbers_reset(&m->locations, (size_t)functions * LINES);
	numbers_reset(&m->functions, functions);
	numbers_reset(&m->files, functions);
}

static void write_gzip(const char *path, const struct out *o)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	size_t bound = libdeflate_gzip_compress_bound(c, o->n), n;
	uint8_t *packed = malloc(bound);
	FILE *f = fopen(path, "w");

	if (!packed || !f)
		die("cannot write");
	n = libdeflate_gzip_compress(c, o->p, o->n, packed, bound);
	if (fwrite(packed, 1, n, f) != n || fclose(f))
		die("cannot write");
	free(packed);
	libdeflate_free_compressor(c);
}

static void big(const char *path, unsigned samples, unsigned depth)
{
	struct out o = {0};
	struct numbering m = {0};
	uint32_t stack[MAX_DEPTH];

	numbering_reset(&m);
	put_header(&o);
	for (unsigned i = 0; i < samples; i++) {
		make_stack(depth, stack);
		put_sample(&o, &m, stack, depth, 1 + rnd() % 5);
	}
	put_tables(&o, &m);
	write_gzip(path, &o);
	free(o.p);
}

struct known_stack {
	unsigned depth;
	uint32_t locations[40];
};

/* A service's functions are not equally popular: low numbers are called more. */
static unsigned popular_callee(unsigned f, unsigned k)
{
	uint64_t h = (f * 2654435761u + k * 40503u + 977) * 0x9e3779b97f4a7c15u;
	double u = (double)(h >> 11) / 9007199254740992.0;

	return (unsigned)(pow(u, SKEW) * functions) % functions;
}

/* Stacks of a service differ in the last few frames: the others are those of an earlier one. */
static void branch_off(struct known_stack *s, const struct known_stack *from)
{
	unsigned keep = s->depth - 1 - (unsigned)(rnd() % BRANCH);
	unsigned f;

	if (keep > from->depth)
		keep = from->depth;
	memcpy(s->locations + s->depth - keep, from->locations + from->depth - keep,
	       keep * sizeof(*s->locations));
	f = s->locations[s->depth - keep] / LINES;
	for (unsigned i = s->depth - keep; i-- > 0;) {
		unsigned k = (unsigned)(rnd() % CALLEES);

		f = popular_callee(f, k);
		/* Two or three places where a function calls another, or is interrupted. */
		s->locations[i] = f * LINES + (uint32_t)(rnd() >> 20) % (3 + f % 2);
	}
}

static void make_service(struct known_stack *stacks, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		stacks[i].depth = 20 + (unsigned)(rnd() % 21);
		if (i)
			branch_off(&stacks[i], &stacks[rnd() % i]);
		else
			make_stack(stacks[i].depth, stacks[i].locations);
	}
}

static void put_upload(struct out *o, struct numbering *m, const struct known_stack *stacks,
		       unsigned count, uint32_t *hits)
{
	o->n = 0;
	numbering_reset(m);
	put_header(o);
	for (unsigned i = 0; i < UPLOAD_PICKS; i++) {
		double u = (double)(rnd() >> 11) / 9007199254740992.0;

		hits[(unsigned)(pow(count, u)) % count]++;
	}
	for (unsigned i = 0; i < count; i++)
		if (hits[i]) {
			put_sample(o, m, stacks[i].locations, stacks[i].depth, hits[i]);
			hits[i] = 0;
		}
	put_tables(o, m);
}

static void service(const char *dir, unsigned files, unsigned count)
{
	struct known_stack *stacks = malloc(count * sizeof(*stacks));
	uint32_t *hits = calloc(count, sizeof(*hits));
	struct numbering m = {0};
	struct out o = {0};
	char path[4096];

	if (!stacks || !hits)
		die("out of memory");
	make_service(stacks, count);
	for (unsigned k = 0; k < files; k++) {
		put_upload(&o, &m, stacks, count, hits);
		snprintf(path, sizeof(path), "%s/%05u.pb.gz", dir, k);
		write_gzip(path, &o);
	}
	free(stacks);
	free(hits);
	free(o.p);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "big") == 0) {
		functions = (unsigned)atoi(argv[4]);
		if (atoi(argv[5]) > MAX_DEPTH || !functions)
			die("DEPTH is at most 128, FUNCTIONS at least 1");
		big(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[5]));
	} else if ((argc == 6 || argc == 7) && strcmp(argv[1], "service") == 0) {
		if (argc == 7) {
			state ^= strtoull(argv[6], NULL, 10) * 0x9e3779b97f4a7c15u;
			timeless = 1;
		}
		functions = (unsigned)atoi(argv[5]);
		if (!functions)
			die("FUNCTIONS is at least 1");
		service(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
	} else {
		die("usage: genprof big OUT SAMPLES FUNCTIONS DEPTH | service DIR FILES STACKS "
		    "FUNCTIONS [SEED]");
	}
	return 0;
}
