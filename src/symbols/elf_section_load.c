#include <elf.h>

#include "symbols/byte_cursor.h"
#include "symbols/elf_image.h"
#include "symbols/packed_section.h"
#include "symbols/section_unpack.h"

/* Smaller sections are decompressed as a whole. */
#define PIECES_LEAST ((uint64_t)256 << 10)

struct packing {
	uint32_t method; /* 0 = not compressed */
	uint64_t size;
	struct str bytes;
};

static enum err read_packing(const struct elf_image *e, const struct elf_section *s,
			     uint64_t ceiling, struct packing *ret)
{
	struct str raw = elf_section_raw(e, s);
	struct byte_cursor c = cursor_over(raw);

	*ret = (struct packing){.bytes = raw};
	if (s->flags & SHF_COMPRESSED) {
		ret->method = cursor_u32(&c);
		cursor_skip(&c, e->is64 ? 4 : 0);
		ret->size = e->is64 ? cursor_u64(&c) : cursor_u32(&c);
		cursor_skip(&c, e->is64 ? 8 : 4);
		if (!ret->method)
			return ERR_UNSUPPORTED;
	} else if (str_starts(s->name, STR(".zdebug")) && str_starts(raw, STR("ZLIB"))) {
		cursor_skip(&c, 4);
		ret->method = ELFCOMPRESS_ZLIB;
		ret->size = __builtin_bswap64(cursor_u64(&c));
	} else {
		return ERR_OK;
	}
	if (c.bad)
		return ERR_TRUNCATED;
	ret->bytes = str_n((const char *)c.p, cursor_left(&c));
	return ret->size > ceiling ? ERR_TOO_LARGE : ERR_OK;
}

enum err elf_section_load(const struct elf_image *e, const struct elf_section *s, uint64_t ceiling,
			  struct str *ret, void **ret_owned)
{
	struct packing p;

	*ret_owned = NULL;
	TRY(read_packing(e, s, ceiling, &p));
	*ret = p.bytes;
	if (!p.method)
		return ERR_OK;
	TRY(unpack_section(p.method, p.bytes, p.size, ret_owned));
	*ret = str_n(*ret_owned, (size_t)p.size);
	return ERR_OK;
}

enum err elf_section_load_pieces(const struct elf_image *e, const struct elf_section *s,
				 uint64_t ceiling, struct packed_section **ret)
{
	struct packing p;

	TRY(read_packing(e, s, ceiling, &p));
	if (p.method != ELFCOMPRESS_ZLIB || p.size < PIECES_LEAST ||
	    !is_possible_size(p.bytes, p.size))
		return ERR_UNSUPPORTED;
	return packed_section_new(p.bytes, (size_t)p.size, ret);
}
