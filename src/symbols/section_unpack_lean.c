/*
 * Replaces section_unpack.c and packed_section.c in src/sdk, which runs inside other programs:
 * nothing is decompressed. That would take much more memory than it is worth there, and must not
 * delay the exit of a program. Symbols then come from symbol tables, which are not compressed.
 */
#include "symbols/section_unpack.h"

#include "symbols/packed_section.h"

enum err unpack_section(uint32_t method, struct str packed, uint64_t size, void **ret)
{
	(void)method;
	(void)packed;
	(void)size;
	(void)ret;
	return ERR_UNSUPPORTED;
}

enum err unpack_xz(struct str packed, size_t ceiling, void **ret, size_t *ret_size)
{
	(void)packed;
	(void)ceiling;
	(void)ret;
	(void)ret_size;
	return ERR_UNSUPPORTED;
}

bool is_possible_size(struct str packed, uint64_t size)
{
	(void)packed;
	(void)size;
	return false;
}

enum err packed_section_new(struct str packed, size_t size, struct packed_section **ret)
{
	(void)packed;
	(void)size;
	(void)ret;
	return ERR_UNSUPPORTED;
}

void packed_section_free(struct packed_section *p)
{
	(void)p;
}

struct str packed_section_bytes(const struct packed_section *p)
{
	(void)p;
	return (struct str){"", 0};
}

enum err packed_section_need(struct packed_section *p, uint64_t from, uint64_t to)
{
	(void)p;
	(void)from;
	(void)to;
	return ERR_OK;
}

void packed_section_trim(struct packed_section *p, size_t kept)
{
	(void)p;
	(void)kept;
}

void packed_section_drop(struct packed_section *p)
{
	(void)p;
}
