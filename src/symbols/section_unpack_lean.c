/*
 * Instead of section_unpack.c where every kilobyte counts (src/sdk): zlib, as Debian packs its
 * debug files, and neither zstd nor xz.
 */
#include <elf.h>
#include <libdeflate.h>

#include "base/alloc.h"
#include "symbols/section_unpack.h"

/* zlib makes no less than a thousandth of what it was given. */
#define RATIO_MAX 1200

enum err unpack_section(uint32_t method, struct str packed, uint64_t size, void **ret)
{
	struct libdeflate_decompressor *d;
	enum libdeflate_result result;
	void *out;

	if (method != ELFCOMPRESS_ZLIB)
		return ERR_UNSUPPORTED;
	if (size / RATIO_MAX > packed.n || !size)
		return ERR_CORRUPT;
	out = mem_alloc((size_t)size);
	d = out ? libdeflate_alloc_decompressor() : NULL;
	if (!d) {
		mem_free(out);
		return ERR_NO_MEMORY;
	}
	result = libdeflate_zlib_decompress(d, packed.p, packed.n, out, (size_t)size, NULL);
	libdeflate_free_decompressor(d);
	if (result != LIBDEFLATE_SUCCESS) {
		mem_free(out);
		return ERR_CORRUPT;
	}
	*ret = out;
	return ERR_OK;
}

enum err unpack_xz(struct str packed, size_t ceiling, void **ret, size_t *ret_size)
{
	(void)packed;
	(void)ceiling;
	(void)ret;
	(void)ret_size;
	return ERR_UNSUPPORTED;
}
