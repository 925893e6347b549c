/*
 * The common header of chunks, blocks and dictionary deltas.
 */
#include "base/hash.h"
#include "store/chunk.h"
#include "store/varint.h"

void blob_head(struct str bytes, uint8_t version, char *ret)
{
	uint32_t sum = (uint32_t)hash_bytes(bytes.p + BLOB_HEAD, bytes.n - BLOB_HEAD, version);

	ret[0] = (char)version;
	ret[1] = 0;
	for (unsigned i = 0; i < 4; i++)
		ret[2 + i] = (char)(sum >> (8 * i));
}

void blob_seal(struct buf *out, size_t at, uint8_t version)
{
	if (!out->error)
		blob_head(str_n(out->data + at, out->n - at), version, out->data + at);
}

enum err blob_verify(struct str bytes, uint8_t version, struct str *ret)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	uint32_t sum = 0;

	if (bytes.n < BLOB_HEAD)
		return ERR_TRUNCATED;
	if (p[0] != version || p[1])
		return ERR_UNSUPPORTED;
	for (unsigned i = 0; i < 4; i++)
		sum |= (uint32_t)p[2 + i] << (8 * i);
	if (sum != (uint32_t)hash_bytes(p + BLOB_HEAD, bytes.n - BLOB_HEAD, version))
		return ERR_CORRUPT;
	*ret = str_skip(bytes, BLOB_HEAD);
	return ERR_OK;
}

void chunk_head_write(const struct chunk_head *h, const uint32_t *stream_sizes, int64_t base_ns,
		      struct buf *out)
{
	put_varint(out, h->flags);
	put_varint(out, h->series == SERIES_MANY ? 0 : (uint64_t)h->series + 1);
	put_varint(out, h->profiles);
	put_zigzag(out, (int64_t)((uint64_t)h->time_ns - (uint64_t)base_ns));
	put_zigzag(out, h->duration_ns);
	put_varint(out, h->rows);
	put_varint(out, h->groups);
	put_varint(out, h->links);
	put_varint(out, h->stack_limit);
	put_varint(out, h->column_count);
	for (uint32_t i = 0; i < h->column_count; i++) {
		put_varint(out, h->columns[i].type);
		put_varint(out, h->columns[i].source);
		put_zigzag(out, h->columns[i].scale);
		put_zigzag(out, h->columns[i].total);
	}
	put_varint(out, h->stream_count);
	for (uint32_t i = 0; i < h->stream_count; i++)
		put_varint(out, stream_sizes[i]);
}

static enum err read_columns(struct cursor *c, struct arena *arena, struct chunk_head *h)
{
	struct chunk_column *columns;

	h->column_count = (uint32_t)get_bounded(c, PROFILE_MAX_TYPES);
	columns = arena_zalloc(arena, h->column_count, sizeof(*columns));
	if (!columns)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < h->column_count; i++) {
		columns[i].type = (uint32_t)get_bounded(c, UINT32_MAX);
		columns[i].source = (uint32_t)get_bounded(c, COLUMN_VALUES + PROFILE_MAX_TYPES - 1);
		columns[i].scale = get_zigzag(c);
		columns[i].total = get_zigzag(c);
	}
	h->columns = columns;
	return ERR_OK;
}

/* Whether sizes and counts fit each other; so that readers of streams need not ask again. */
static bool head_agrees(const struct chunk_head *h, const uint32_t *sizes)
{
	if (h->stream_count < STREAM_VALUES || sizes[STREAM_TOKENS] != h->rows ||
	    sizes[STREAM_LINKS] != (uint64_t)h->links * sizeof(struct link))
		return false;
	if (!(h->flags & CHUNK_GROUPS) &&
	    (h->groups != (h->rows ? 1 : 0) || h->links || sizes[STREAM_GROUPS]))
		return false;
	/* A group takes three bytes at least, and has a row at least. */
	if (h->flags & CHUNK_GROUPS &&
	    (h->groups > sizes[STREAM_GROUPS] / 3 || h->groups > h->rows))
		return false;
	if (sizes[STREAM_TIMES] < (h->flags & CHUNK_TIMES ? h->rows : 0))
		return false;
	for (uint32_t i = 0; i < h->column_count; i++)
		if (h->columns[i].source >= COLUMN_VALUES &&
		    h->columns[i].source - COLUMN_VALUES >= h->stream_count - STREAM_VALUES)
			return false;
	for (uint32_t i = STREAM_VALUES; i < h->stream_count; i++)
		if (sizes[i] < h->rows)
			return false;
	return true;
}

enum err chunk_head_read(struct cursor *c, int64_t base_ns, struct arena *arena,
			 struct chunk_head *ret, uint32_t *ret_sizes)
{
	struct chunk_head h = {0};

	h.flags = (uint32_t)get_bounded(c,
					CHUNK_GROUPS | CHUNK_TIMES | CHUNK_NEGATIVE | CHUNK_ROLLUP);
	h.series = (uint32_t)get_bounded(c, UINT32_MAX) - 1;
	h.profiles = (uint32_t)get_bounded(c, UINT32_MAX);
	h.time_ns = (int64_t)((uint64_t)get_zigzag(c) + (uint64_t)base_ns);
	h.duration_ns = get_zigzag(c);
	h.rows = (uint32_t)get_bounded(c, CHUNK_MAX_ROWS);
	h.groups = (uint32_t)get_bounded(c, CHUNK_MAX_ROWS);
	h.links = (uint32_t)get_bounded(c, CHUNK_MAX_ROWS);
	h.stack_limit = (uint32_t)get_bounded(c, UINT32_MAX);
	TRY(read_columns(c, arena, &h));
	h.stream_count = (uint32_t)get_bounded(c, CHUNK_MAX_STREAMS);
	for (uint32_t i = 0; i < h.stream_count; i++)
		ret_sizes[i] = (uint32_t)get_bounded(c, UINT32_MAX);
	if (c->bad || !head_agrees(&h, ret_sizes))
		return ERR_CORRUPT;
	*ret = h;
	return ERR_OK;
}
