/* Apart from compress.c, so that it can be had without zstd and without reading. */
#include <libdeflate.h>

#include "format/formats_internal.h"

enum err compress_gzip(struct str plain, int level, struct buf *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	size_t bound, made;
	char *at;

	if (!c)
		return ERR_NO_MEMORY;
	bound = libdeflate_gzip_compress_bound(c, plain.n);
	at = buf_reserve(out, bound);
	made = at ? libdeflate_gzip_compress(c, plain.p, plain.n, at, bound) : 0;
	libdeflate_free_compressor(c);
	if (!at)
		return buf_error(out);
	if (!made)
		return ERR_INTERNAL;
	out->n += made;
	out->data[out->n] = '\0';
	return ERR_OK;
}
