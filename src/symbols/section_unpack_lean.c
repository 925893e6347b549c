/*
 * Instead of section_unpack.c inside of other programs (src/sdk): nothing is unpacked. Packed debug
 * files are many times as large as what they are needed for there, and a program that ends must not
 * wait for that. Names come from symbol tables then, which nobody packs.
 */
#include "symbols/section_unpack.h"

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
