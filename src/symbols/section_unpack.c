#include "symbols/section_unpack.h"

#include <elf.h>
#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>

#include "base/alloc.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* No compressor of these kinds makes less than a thousandth of what it was given. */
#define RATIO_MAX 1200

static enum err unpack_zlib(struct str packed, void *out, size_t size)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (!d)
		return ERR_NO_MEMORY;
	result = libdeflate_zlib_decompress(d, packed.p, packed.n, out, size, NULL);
	libdeflate_free_decompressor(d);
	return result == LIBDEFLATE_SUCCESS ? ERR_OK : ERR_CORRUPT;
}

bool is_possible_size(struct str packed, uint64_t size)
{
	return size && size / RATIO_MAX <= packed.n;
}

enum err unpack_section(uint32_t method, struct str packed, uint64_t size, void **ret)
{
	enum err error = ERR_OK;
	void *out;

	if (!is_possible_size(packed, size))
		return ERR_CORRUPT;
	if (method != ELFCOMPRESS_ZLIB && method != ELFCOMPRESS_ZSTD)
		return ERR_UNSUPPORTED;
	out = mem_alloc((size_t)size);
	if (!out)
		return ERR_NO_MEMORY;
	if (method == ELFCOMPRESS_ZLIB)
		error = unpack_zlib(packed, out, (size_t)size);
	else if (ZSTD_decompress(out, (size_t)size, packed.p, packed.n) != size)
		error = ERR_CORRUPT;
	if (error) {
		mem_free(out);
		return error;
	}
	*ret = out;
	return ERR_OK;
}

static void *lzma_take(void *context, size_t count, size_t size)
{
	(void)context;
	return size && count > SIZE_MAX / size ? NULL : mem_alloc(count * size);
}

static void lzma_give(void *context, void *p)
{
	(void)context;
	mem_free(p);
}

enum err unpack_xz(struct str packed, size_t ceiling, void **ret, size_t *ret_size)
{
	lzma_allocator allocator = {.alloc = lzma_take, .free = lzma_give};
	lzma_stream stream = LZMA_STREAM_INIT;
	enum err error = ERR_OK;
	size_t cap = 0;
	uint8_t *out = NULL;
	lzma_ret result;

	stream.allocator = &allocator;
	if (lzma_stream_decoder(&stream, (uint64_t)64 << 20, 0) != LZMA_OK)
		return ERR_NO_MEMORY;
	stream.next_in = (const uint8_t *)packed.p;
	stream.avail_in = packed.n;
	do {
		size_t used = (size_t)stream.total_out;

		error = mem_grow(&out, &cap, used + 65536, 1, ceiling + 65536);
		if (error)
			break;
		stream.next_out = out + used;
		stream.avail_out = cap - used;
		result = lzma_code(&stream, LZMA_FINISH);
	} while (result == LZMA_OK && stream.total_out <= ceiling);
	if (!error && result == LZMA_MEM_ERROR)
		error = ERR_NO_MEMORY;
	else if (!error && result == LZMA_OK)
		error = ERR_TOO_LARGE;
	else if (!error && result != LZMA_STREAM_END)
		error = ERR_CORRUPT;
	*ret_size = (size_t)stream.total_out;
	lzma_end(&stream);
	if (error) {
		mem_free(out);
		return error;
	}
	*ret = out;
	return ERR_OK;
}
