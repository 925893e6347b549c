/*
 * Many chunks into one block: heads into a directory, streams side by side, compressed.
 */
#include <stdlib.h>

#include "store/block.h"
#include "store/block_segment.h"
#include "store/bloom.h"
#include "store/packing.h"
#include "store/varint.h"

#define SEGMENT_ROWS  (64u << 10)
#define SEGMENT_BYTES (1u << 20)
#define LEVEL	      1 /* above, these columns get no smaller */

static int compare_types(const struct chunk_head *a, const struct chunk_head *b)
{
	if (a->column_count != b->column_count)
		return a->column_count < b->column_count ? -1 : 1;
	for (uint32_t i = 0; i < a->column_count; i++)
		if (a->columns[i].type != b->columns[i].type)
			return a->columns[i].type < b->columns[i].type ? -1 : 1;
	return 0;
}

static int compare_chunks(const void *left, const void *right)
{
	const struct chunk_head *a = &(*(struct chunk_view *const *)left)->head;
	const struct chunk_head *b = &(*(struct chunk_view *const *)right)->head;
	int order = compare_types(a, b);

	if (!order)
		order = (a->series > b->series) - (a->series < b->series);
	return order ? order : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

struct block_writer {
	struct chunk_view **chunks;
	size_t n;
	int64_t first_ns, last_ns;
	uint64_t rows;
	struct buf directory, sizes, streams, plain;
	uint32_t segments;
};

static void writer_release(struct block_writer *w)
{
	buf_release(&w->directory);
	buf_release(&w->sizes);
	buf_release(&w->streams);
	buf_release(&w->plain);
}

/* The number of chunks from `first` on in one segment. */
static size_t segment_length(const struct block_writer *w, size_t first)
{
	size_t n = 0, bytes = 0, rows = 0;

	while (first + n < w->n && rows < SEGMENT_ROWS && bytes < SEGMENT_BYTES) {
		const struct chunk_view *v = w->chunks[first + n];

		if (compare_types(&v->head, &w->chunks[first]->head))
			break;
		rows += v->head.rows;
		for (uint32_t t = 0; t < v->head.stream_count; t++)
			bytes += chunk_stream_size(v, t);
		n++;
	}
	return n;
}

static enum err write_stream(struct block_writer *w, struct chunk_view **chunks, size_t n,
			     uint32_t stream)
{
	size_t before = w->streams.n;

	buf_clear(&w->plain);
	for (size_t i = 0; i < n; i++) {
		struct str part;

		if (!chunk_stream_size(chunks[i], stream))
			continue;
		TRY(chunk_stream(chunks[i], stream, &part));
		buf_str(&w->plain, part);
	}
	TRY(buf_error(&w->plain));
	if (w->plain.n)
		TRY(pack(buf_view(&w->plain), LEVEL, &w->streams));
	/* Incompressible data is stored uncompressed, which its size shows. */
	if (w->streams.n - before >= w->plain.n) {
		w->streams.n = before;
		buf_str(&w->streams, buf_view(&w->plain));
	}
	put_varint(&w->sizes, w->plain.n);
	put_varint(&w->sizes, w->streams.n - before);
	return buf_error(&w->streams);
}

static enum err write_segment(struct block_writer *w, size_t first, size_t n)
{
	uint32_t streams = STREAM_VALUES;

	for (size_t i = first; i < first + n; i++) {
		const struct chunk_view *v = w->chunks[i];
		uint32_t sizes[CHUNK_MAX_STREAMS];

		for (uint32_t t = 0; t < v->head.stream_count; t++)
			sizes[t] = chunk_stream_size(v, t);
		if (v->head.stream_count > streams)
			streams = v->head.stream_count;
		put_varint(&w->directory, i == first && first ? 1 : 0);
		chunk_head_write(&v->head, sizes, w->first_ns, &w->directory);
		w->rows += v->head.rows;
	}
	put_varint(&w->sizes, streams);
	for (uint32_t t = 0; t < streams; t++)
		TRY(write_stream(w, w->chunks + first, n, t));
	w->segments++;
	return ERR_OK;
}

static enum err write_segments(struct block_writer *w)
{
	for (size_t i = 0; i < w->n; i++) {
		int64_t time = w->chunks[i]->head.time_ns;

		if (!i || time < w->first_ns)
			w->first_ns = time;
		if (!i || time > w->last_ns)
			w->last_ns = time;
	}
	for (size_t first = 0, n; first < w->n; first += n) {
		n = segment_length(w, first);
		TRY(write_segment(w, first, n));
	}
	return ERR_OK;
}

static enum err make_bloom(const struct block_writer *w, struct buf *out)
{
	size_t links = 0, size;
	uint8_t *filter;

	for (size_t i = 0; i < w->n; i++)
		links += w->chunks[i]->head.links;
	size = bloom_size(links);
	filter = buf_reserve(out, size);
	if (!filter)
		return buf_error(out);
	memset(filter, 0, size);
	for (size_t i = 0; i < w->n; i++) {
		struct str bytes;

		if (!w->chunks[i]->head.links)
			continue;
		TRY(chunk_links(w->chunks[i], &bytes));
		for (size_t at = 0; at < bytes.n; at += sizeof(struct link))
			bloom_add(filter, size,
				  (const uint8_t *)bytes.p + at + offsetof(struct link, span_id));
	}
	out->n += size;
	return ERR_OK;
}

static enum err write_block(struct block_writer *w, struct buf *bloom, struct buf *out)
{
	size_t at = out->n, before = w->streams.n, directory;

	/* Temporarily after the streams: only its size must be known first. */
	TRY(buf_error(&w->directory));
	TRY(pack(buf_view(&w->directory), LEVEL, &w->streams));
	directory = w->streams.n - before;
	buf_append(out, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	put_zigzag(out, w->first_ns);
	put_zigzag(out, w->last_ns);
	put_varint(out, w->n);
	put_varint(out, w->rows);
	put_varint(out, bloom->n);
	put_varint(out, w->directory.n);
	put_varint(out, directory);
	put_varint(out, w->segments);
	buf_str(out, buf_view(&w->sizes));
	buf_str(out, buf_view(bloom));
	buf_append(out, w->streams.data + before, directory);
	buf_append(out, w->streams.data, before);
	if (buf_error(&w->sizes))
		out->error = w->sizes.error;
	blob_seal(out, at, BLOCK_VERSION);
	if (out->error)
		out->n = at;
	return buf_error(out);
}

enum err block_encode(struct chunk_view **chunks, size_t n, struct buf *out)
{
	CLEANUP(writer_release)
	struct block_writer w = {
		.chunks = chunks,
		.n = n,
		.directory = BUF_INIT(UINT32_MAX),
		.sizes = BUF_INIT(UINT32_MAX),
		.streams = BUF_INIT(UINT32_MAX),
		.plain = BUF_INIT(UINT32_MAX),
	};
	CLEANUP(buf_release) struct buf bloom = BUF_INIT(UINT32_MAX);

	if (n)
		qsort(chunks, n, sizeof(*chunks), compare_chunks);
	TRY(write_segments(&w));
	TRY(make_bloom(&w, &bloom));
	return write_block(&w, &bloom, out);
}
