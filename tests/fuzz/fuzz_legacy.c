/*
 * Legacy pprof in all its forms: read, and written as folded stacks.
 */
#include "format/formats_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};
	struct buf text = BUF_INIT((size_t)64 << 20);
	struct profile_list list = {0};
	struct dict d;
	struct reading r = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
	struct writing w = {.list = &list, .type = -1, .compress = -1};

	if (dict_init(&d, 1))
		return 0;
	(void)legacy_sniff(bytes);
	if (legacy_read(bytes, &r) == ERR_OK)
		(void)!folded_write(&w, &text);
	notes_release(&w.notes);
	notes_release(&r.notes);
	profile_list_release(&list);
	dict_release(&d);
	buf_release(&text);
	return 0;
}
