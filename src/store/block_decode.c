/*
 * Reading blocks: the directory immediately, streams on demand.
 */
#include "store/block.h"

#include "store/block_segment.h"
#include "store/bloom.h"
#include "store/packing.h"
#include "store/varint.h"

#define MAX_PLAIN    ((size_t)1 << 30)
#define LEAST_HEAD   16 /* bytes of the directory for a chunk */
#define MAX_SEGMENTS (1u << 20)

struct block_head {
	uint64_t chunks;
	struct str bloom, directory;
	uint32_t directory_plain;
};

enum err segment_stream(struct block_segment *s, uint32_t stream, struct str *ret)
{
	struct segment_stream *t;

	if (stream >= s->stream_count)
		return ERR_CORRUPT;
	t = &s->streams[stream];
	if (t->packed.n == t->plain) {
		*ret = t->packed;
		return ERR_OK;
	}
	if (!t->bytes) {
		char *bytes = arena_alloc(s->arena, t->plain);

		if (!bytes)
			return ERR_NO_MEMORY;
		TRY(unpack(t->packed, bytes, t->plain));
		t->bytes = bytes;
	}
	*ret = str_n(t->bytes, t->plain);
	return ERR_OK;
}

static enum err read_segments(struct cursor *c, struct block *b)
{
	b->segment_count = (uint32_t)get_bounded(c, MAX_SEGMENTS);
	if (b->segment_count > (uint64_t)(c->end - c->p))
		return ERR_CORRUPT;
	b->segments = arena_zalloc(&b->arena, b->segment_count, sizeof(*b->segments));
	if (!b->segments)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < b->segment_count; i++) {
		struct block_segment *s = &b->segments[i];

		s->arena = &b->arena;
		s->stream_count = (uint32_t)get_bounded(c, CHUNK_MAX_STREAMS);
		s->streams = arena_zalloc(&b->arena, s->stream_count, sizeof(*s->streams));
		if (!s->streams)
			return ERR_NO_MEMORY;
		for (uint32_t t = 0; t < s->stream_count; t++) {
			s->streams[t].plain = (uint32_t)get_bounded(c, MAX_PLAIN);
			s->streams[t].packed.n = get_bounded(c, s->streams[t].plain);
		}
	}
	return c->bad ? ERR_CORRUPT : ERR_OK;
}

static enum err read_head(struct cursor *c, struct block *b, struct block_head *h)
{
	size_t bloom, directory;

	b->first_ns = get_zigzag(c);
	b->last_ns = get_zigzag(c);
	h->chunks = get_varint(c);
	b->rows = get_varint(c);
	bloom = get_bounded(c, MAX_PLAIN);
	h->directory_plain = (uint32_t)get_bounded(c, MAX_PLAIN);
	directory = get_bounded(c, MAX_PLAIN);
	TRY(read_segments(c, b));
	b->bloom = get_bytes(c, bloom);
	h->directory = get_bytes(c, directory);
	for (uint32_t i = 0; i < b->segment_count; i++)
		for (uint32_t t = 0; t < b->segments[i].stream_count; t++)
			b->segments[i].streams[t].packed =
				get_bytes(c, b->segments[i].streams[t].packed.n);
	if (c->bad || c->p != c->end || h->chunks > h->directory_plain / LEAST_HEAD)
		return ERR_CORRUPT;
	return ERR_OK;
}

/* Gives a chunk its part of every stream of its segment: they stand in order. */
static enum err place_streams(struct block *b, struct chunk_view *v, const uint32_t *sizes,
			      uint32_t *ends)
{
	uint32_t n = v->head.stream_count;
	uint32_t *at = arena_alloc(&b->arena, 2 * n * sizeof(*at));

	if (!at)
		return ERR_NO_MEMORY;
	if (n > v->segment->stream_count)
		return ERR_CORRUPT;
	for (uint32_t t = 0; t < n; t++) {
		if (sizes[t] > v->segment->streams[t].plain - ends[t])
			return ERR_CORRUPT;
		at[t] = ends[t];
		at[n + t] = sizes[t];
		ends[t] += sizes[t];
	}
	v->at = at;
	v->n = at + n;
	return ERR_OK;
}

static enum err read_directory(struct block *b, const struct block_head *h)
{
	uint32_t sizes[CHUNK_MAX_STREAMS], ends[CHUNK_MAX_STREAMS] = {0}, segment = 0;
	char *plain = arena_alloc(&b->arena, h->directory_plain);
	struct cursor c;

	b->chunks = arena_zalloc(&b->arena, h->chunks, sizeof(*b->chunks));
	if (!plain || !b->chunks)
		return ERR_NO_MEMORY;
	TRY(unpack(h->directory, plain, h->directory_plain));
	c = cursor_of(str_n(plain, h->directory_plain));
	for (uint64_t i = 0; i < h->chunks; i++) {
		struct chunk_view *v = &b->chunks[i];
		uint32_t steps = (uint32_t)get_bounded(&c, MAX_SEGMENTS);

		if (steps)
			memset(ends, 0, sizeof(ends));
		segment += steps;
		if (segment >= b->segment_count)
			return ERR_CORRUPT;
		TRY(chunk_head_read(&c, b->first_ns, &b->arena, &v->head, sizes));
		v->segment = &b->segments[segment];
		TRY(place_streams(b, v, sizes, ends));
	}
	b->n = h->chunks;
	return c.p == c.end ? ERR_OK : ERR_CORRUPT;
}

/* The arena does not say why it refused; a ceiling that is reached means "too large". */
static enum err refused(const struct block *b, enum err e)
{
	return e == ERR_NO_MEMORY && b->arena.ceiling && b->arena.used > b->arena.ceiling / 2
		       ? ERR_TOO_LARGE
		       : e;
}

static enum err open_body(struct block *b, struct str bytes)
{
	struct block_head h = {0};
	struct str body;
	struct cursor c;

	TRY(blob_verify(bytes, BLOCK_VERSION, &body));
	c = cursor_of(body);
	TRY(read_head(&c, b, &h));
	return read_directory(b, &h);
}

enum err block_open(struct str bytes, size_t max_memory, struct block *ret)
{
	enum err e;

	*ret = (struct block){0};
	arena_init(&ret->arena, max_memory);
	e = open_body(ret, bytes);
	if (e) {
		e = refused(ret, e);
		block_release(ret);
	}
	return e;
}

void block_release(struct block *b)
{
	if (!b)
		return;
	arena_release(&b->arena);
	*b = (struct block){0};
}

enum err block_may_link(struct str bytes, const struct link *links, size_t n, bool *ret)
{
	static const uint8_t none[8];
	struct block b = {0};
	struct block_head h;
	struct str body;
	struct cursor c;
	enum err e = blob_verify(bytes, BLOCK_VERSION, &body);
	bool found = false;

	if (e)
		return e;
	c = cursor_of(body);
	e = read_head(&c, &b, &h);
	for (size_t i = 0; !e && i < n && !found; i++)
		found = memcmp(links[i].span_id, none, sizeof(none)) == 0
				? b.bloom.n != 0
				: bloom_has((const uint8_t *)b.bloom.p, b.bloom.n,
					    links[i].span_id);
	block_release(&b);
	if (!e)
		*ret = found;
	return e;
}
