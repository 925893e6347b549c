/*
 * gzip by libdeflate, zstd by libzstd; gzip is written in gzip_write.c. Sizes in the input are not
 * trusted: output grows step by step up to the ceiling, and an implausible compression ratio is
 * refused early.
 */
#include <libdeflate.h>
#include <zstd.h>

#include "base/alloc.h"
#include "format/formats_internal.h"

#define RATIO_FREE_BYTES ((size_t)1 << 20)

static size_t allowed(size_t compressed, const struct limits *limits)
{
	size_t by_ratio = compressed * (size_t)limits->max_ratio;

	if (by_ratio < RATIO_FREE_BYTES)
		by_ratio = RATIO_FREE_BYTES;
	return by_ratio < limits->max_bytes ? by_ratio : limits->max_bytes;
}

static enum err too_large(struct fault *fault, size_t compressed, const struct limits *limits)
{
	if (allowed(compressed, limits) < limits->max_bytes)
		return fault_set(fault, ERR_TOO_LARGE,
				 "%zu compressed bytes expand more than %u times: refused as a "
				 "decompression bomb",
				 compressed, limits->max_ratio);
	return fault_set(fault, ERR_TOO_LARGE,
			 "the data is larger than %zu MiB when decompressed (raise --max-bytes)",
			 limits->max_bytes >> 20);
}

/* The size a gzip trailer claims: a hint for the first attempt, nothing more. */
static size_t gzip_hint(struct str bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.p + bytes.n - 4;

	return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static enum err gunzip_member(struct libdeflate_decompressor *d, struct str bytes, size_t limit,
			      struct buf *ret, size_t *ret_used, struct fault *fault)
{
	size_t room = gzip_hint(bytes), used, made;

	if (room < 4096 || room > limit - ret->n)
		room = bytes.n * 4 + 4096;
	for (;;) {
		enum libdeflate_result result;
		char *at;

		if (room > limit - ret->n)
			room = limit - ret->n;
		at = buf_reserve(ret, room);
		if (!at)
			return buf_error(ret);
		result = libdeflate_gzip_decompress_ex(d, bytes.p, bytes.n, at, room, &used, &made);
		if (result == LIBDEFLATE_SUCCESS) {
			ret->n += made;
			ret->data[ret->n] = '\0';
			*ret_used = used;
			return ERR_OK;
		}
		if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
			return fault_set(fault, ERR_CORRUPT,
					 "the gzip data is damaged or ends too early");
		if (room == limit - ret->n)
			return ERR_TOO_LARGE;
		room *= 2;
	}
}

static enum err gunzip(struct str bytes, const struct limits *limits, struct buf *ret,
		       struct fault *fault)
{
	struct libdeflate_decompressor *d;
	size_t limit = allowed(bytes.n, limits), total = bytes.n;
	enum err e = ERR_OK;

	if (bytes.n < 18)
		return fault_set(fault, ERR_TRUNCATED, "the gzip data ends inside its header");
	d = libdeflate_alloc_decompressor();
	if (!d)
		return ERR_NO_MEMORY;
	buf_init(ret, limit);
	/* Members follow each other; what does not look like one is padding and ignored. */
	while (!e && bytes.n >= 18 && memcmp(bytes.p, "\x1f\x8b", 2) == 0) {
		size_t used = 0;

		e = gunzip_member(d, bytes, limit, ret, &used, fault);
		if (!e)
			bytes = str_skip(bytes, used);
	}
	libdeflate_free_decompressor(d);
	return e == ERR_TOO_LARGE ? too_large(fault, total, limits) : e;
}

static enum err unzstd(struct str bytes, const struct limits *limits, struct buf *ret,
		       struct fault *fault)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer in = {bytes.p, bytes.n, 0};
	size_t limit = allowed(bytes.n, limits), left = 1;
	bool full = false; /* zstd may hold back bytes of input it has taken already */
	enum err e = ERR_OK;

	if (!d)
		return ERR_NO_MEMORY;
	buf_init(ret, limit);
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, 27);
	while (!e && (in.pos < in.size || full)) {
		size_t room = ZSTD_DStreamOutSize();
		ZSTD_outBuffer out;

		if (room > limit - ret->n)
			room = limit - ret->n;
		if (!room) {
			e = too_large(fault, bytes.n, limits);
			break;
		}
		out = (ZSTD_outBuffer){buf_reserve(ret, room), room, 0};
		if (!out.dst) {
			e = buf_error(ret);
			break;
		}
		left = ZSTD_decompressStream(d, &out, &in);
		if (ZSTD_isError(left))
			e = fault_set(fault, ERR_CORRUPT, "the zstd data is damaged: %s",
				      ZSTD_getErrorName(left));
		full = left && out.pos == room;
		ret->n += out.pos;
		ret->data[ret->n] = '\0';
	}
	ZSTD_freeDCtx(d);
	if (!e && left)
		e = fault_set(fault, ERR_TRUNCATED, "the zstd data ends too early");
	return e;
}

static bool is_gzip(struct str bytes)
{
	return bytes.n >= 2 && memcmp(bytes.p, "\x1f\x8b", 2) == 0;
}

static bool is_zstd(struct str bytes)
{
	return bytes.n >= 4 && memcmp(bytes.p, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool is_packed(struct str bytes)
{
	return is_gzip(bytes) || is_zstd(bytes);
}

enum err decompress(struct str bytes, const struct limits *limits, struct buf *ret,
		    const char **ret_name, struct fault *fault)
{
	enum err e;

	*ret_name = "none";
	buf_init(ret, limits->max_bytes);
	if (is_gzip(bytes)) {
		*ret_name = "gzip";
		e = gunzip(bytes, limits, ret, fault);
	} else if (is_zstd(bytes)) {
		*ret_name = "zstd";
		e = unzstd(bytes, limits, ret, fault);
	} else {
		return ERR_OK;
	}
	if (e)
		buf_release(ret);
	return e;
}

enum err compress_zstd(struct str plain, int level, struct buf *out)
{
	size_t bound = ZSTD_compressBound(plain.n), made;
	char *at = buf_reserve(out, bound);

	if (!at)
		return buf_error(out);
	made = ZSTD_compress(at, bound, plain.p, plain.n, level);
	if (ZSTD_isError(made))
		return ERR_INTERNAL;
	out->n += made;
	out->data[out->n] = '\0';
	return ERR_OK;
}
