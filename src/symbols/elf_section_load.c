#include <elf.h>

#include "symbols/byte_cursor.h"
#include "symbols/elf_image.h"
#include "symbols/section_unpack.h"

enum err elf_section_load(const struct elf_image *e, const struct elf_section *s, uint64_t ceiling,
			  struct str *ret, void **ret_owned)
{
	struct str raw = elf_section_raw(e, s);
	struct byte_cursor c = cursor_over(raw);
	uint32_t method = ELFCOMPRESS_ZLIB;
	uint64_t size;

	*ret_owned = NULL;
	*ret = raw;
	if (s->flags & SHF_COMPRESSED) {
		method = cursor_u32(&c);
		cursor_skip(&c, e->is64 ? 4 : 0);
		size = e->is64 ? cursor_u64(&c) : cursor_u32(&c);
		cursor_skip(&c, e->is64 ? 8 : 4);
	} else if (str_starts(s->name, STR(".zdebug")) && str_starts(raw, STR("ZLIB"))) {
		cursor_skip(&c, 4);
		size = __builtin_bswap64(cursor_u64(&c));
	} else {
		return ERR_OK;
	}
	if (c.bad)
		return ERR_TRUNCATED;
	if (size > ceiling)
		return ERR_TOO_LARGE;
	TRY(unpack_section(method, str_n(c.p, cursor_left(&c)), size, ret_owned));
	*ret = str_n(*ret_owned, (size_t)size);
	return ERR_OK;
}
