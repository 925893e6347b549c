#include "symbols/packed_section.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"

#define ZLIB_HEAD   2
#define WINDOW	    32768u
#define RAW_DEFLATE (-15)
/* Minimum distance of two start points; larger in large sections, so that all windows take at most
 * a megabyte. */
#define SPAN_LEAST  ((uint64_t)512 << 10)
#define MARKS_MAX   32u
#define SCRATCH	    16384u
#define FEED_MAX    (1u << 30)
/* After decompressing this many times its size, a section is decompressed as a whole. */
#define EFFORT	    4u

struct mark {
	uint64_t in, out; /* bytes before the mark */
	unsigned bits;	  /* unused bits of the last byte before it */
	unsigned window_size;
	uint8_t *window;
};

struct piece {
	uint64_t from, to;
};

struct packed_section {
	struct str packed;
	uint8_t *bytes;
	size_t size, resident;
	uint64_t span, effort;
	bool whole;
	z_stream stream;
	bool stopped;	  /* at an error or the end */
	uint64_t in, out; /* position of the stream */
	VEC(struct mark) marks;
	VEC(struct piece) pieces;
	uint8_t scratch[SCRATCH];
};

static void *take(void *context, unsigned count, unsigned size)
{
	(void)context;
	return mem_zalloc(count, size);
}

static void give(void *context, void *p)
{
	(void)context;
	mem_free(p);
}

enum err packed_section_new(struct str packed, size_t size, struct packed_section **ret)
{
	struct packed_section *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return ERR_NO_MEMORY;
	p->packed = packed;
	p->size = size;
	p->span = size / MARKS_MAX > SPAN_LEAST ? size / MARKS_MAX : SPAN_LEAST;
	p->stream.zalloc = take;
	p->stream.zfree = give;
	p->bytes = mem_zalloc(size, 1);
	if (!p->bytes || inflateInit2(&p->stream, RAW_DEFLATE) != Z_OK) {
		mem_free(p->bytes);
		mem_free(p);
		return ERR_NO_MEMORY;
	}
	p->in = ZLIB_HEAD;
	p->stopped = packed.n <= ZLIB_HEAD;
	*ret = p;
	return ERR_OK;
}

void packed_section_free(struct packed_section *p)
{
	if (!p)
		return;
	vec_for_each (mark, &p->marks)
		mem_free(mark->window);
	vec_release(&p->marks);
	vec_release(&p->pieces);
	inflateEnd(&p->stream);
	mem_free(p->bytes);
	mem_free(p);
}

struct str packed_section_bytes(const struct packed_section *p)
{
	return str_n((const char *)p->bytes, p->size);
}

/* Adds a mark; the stream must be between two blocks. */
static enum err add_mark(struct packed_section *p)
{
	struct mark mark = {.in = p->in, .out = p->out, .bits = p->stream.data_type & 7};
	enum err e;

	mark.window = mem_alloc(WINDOW);
	if (!mark.window)
		return ERR_NO_MEMORY;
	mark.window_size = WINDOW;
	if (inflateGetDictionary(&p->stream, mark.window, &mark.window_size) != Z_OK) {
		mem_free(mark.window);
		return ERR_OK;
	}
	e = vec_push(&p->marks, mark);
	if (e)
		mem_free(mark.window);
	return e;
}

static uint64_t last_mark(const struct packed_section *p)
{
	return p->marks.n ? p->marks.v[p->marks.n - 1].out : 0;
}

/* Decompresses to the end of a block, or until `to` is full. */
static enum err inflate_some(struct packed_section *p, uint8_t *to, uint64_t room)
{
	z_stream *s = &p->stream;
	uint64_t left = p->packed.n - p->in;
	int status;

	s->next_in = (Bytef *)(uintptr_t)p->packed.p + p->in;
	s->avail_in = left < FEED_MAX ? (uInt)left : FEED_MAX;
	s->next_out = to;
	s->avail_out = room < FEED_MAX ? (uInt)room : FEED_MAX;
	status = inflate(s, Z_BLOCK);
	p->in = (uint64_t)((const char *)s->next_in - p->packed.p);
	p->out += (uint64_t)(s->next_out - to);
	p->effort += (uint64_t)(s->next_out - to);
	p->stopped = status != Z_OK;
	if (status == Z_MEM_ERROR)
		return ERR_NO_MEMORY;
	/* zlib data_type: bit 7 = at the end of a block, bit 6 = of the last one. */
	if (!p->stopped && (s->data_type & 192) == 128 && p->out >= last_mark(p) + p->span)
		return add_mark(p);
	return ERR_OK;
}

/* Moves the stream to the last mark at or before `from`, unless the stream is between the two. */
static void seek(struct packed_section *p, uint64_t from)
{
	const struct mark *best = NULL;

	vec_for_each (mark, &p->marks)
		if (mark->out <= from)
			best = mark;
	if (p->out <= from && p->out >= (best ? best->out : 0) && !p->stopped)
		return;
	(void)inflateReset2(&p->stream, RAW_DEFLATE);
	p->in = best ? best->in : ZLIB_HEAD;
	p->out = best ? best->out : 0;
	p->stopped = p->in >= p->packed.n;
	if (!best)
		return;
	if (best->bits)
		(void)inflatePrime(&p->stream, (int)best->bits,
				   (uint8_t)p->packed.p[best->in - 1] >> (8 - best->bits));
	(void)inflateSetDictionary(&p->stream, best->window, best->window_size);
}

static enum err unpack(struct packed_section *p, uint64_t from, uint64_t to)
{
	seek(p, from);
	while (p->out < from && !p->stopped)
		TRY(inflate_some(p, p->scratch, from - p->out < SCRATCH ? from - p->out : SCRATCH));
	while (p->out < to && !p->stopped)
		TRY(inflate_some(p, p->bytes + p->out, to - p->out));
	return ERR_OK;
}

/* The first byte at or after `from` that is not decompressed. */
static uint64_t first_missing(const struct packed_section *p, uint64_t from)
{
	vec_for_each (piece, &p->pieces)
		if (piece->from <= from && from < piece->to)
			from = piece->to;
	return from;
}

enum err packed_section_need(struct packed_section *p, uint64_t from, uint64_t to)
{
	if (!p)
		return ERR_OK;
	to = to < p->size ? to : p->size;
	from = first_missing(p, from);
	if (p->whole || from >= to)
		return ERR_OK;
	if (p->effort / EFFORT > p->size) {
		TRY(unpack(p, 0, p->size));
		p->whole = true;
		p->resident = p->size;
		return ERR_OK;
	}
	TRY(unpack(p, from, to));
	p->resident += to - from;
	if (p->pieces.n && p->pieces.v[p->pieces.n - 1].to == from) {
		p->pieces.v[p->pieces.n - 1].to = to;
		return ERR_OK;
	}
	return vec_push(&p->pieces, ((struct piece){from, to}));
}

static void give_back(struct packed_section *p)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)p->bytes + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)p->bytes + p->size) & ~(page - 1);

	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
	p->resident = 0;
	p->pieces.n = 0;
}

void packed_section_trim(struct packed_section *p, size_t kept)
{
	if (p && !p->whole && p->resident > kept)
		give_back(p);
}

void packed_section_drop(struct packed_section *p)
{
	if (!p)
		return;
	if (p->resident)
		give_back(p);
	p->whole = false;
	p->effort = 0;
}

size_t packed_section_memory(const struct packed_section *p)
{
	return p->resident + p->marks.n * WINDOW;
}
