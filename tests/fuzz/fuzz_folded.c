/*
 * Folded stacks: what was read is written, and read again.
 */
#include <stdlib.h>

#include "format/formats_internal.h"

static enum err to_text(struct str bytes, struct buf *out)
{
	struct profile_list list = {0};
	struct dict d;
	struct reading r = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
	struct writing w = {.list = &list, .type = -1, .compress = -1};
	enum err e = dict_init(&d, 1);

	if (e)
		return e;
	(void)folded_sniff(bytes);
	e = folded_read(bytes, &r);
	if (!e)
		e = folded_write(&w, out);
	notes_release(&w.notes);
	notes_release(&r.notes);
	profile_list_release(&list);
	dict_release(&d);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT((size_t)64 << 20), twice = BUF_INIT((size_t)64 << 20);

	if (to_text((struct str){(const char *)data, size}, &once) == ERR_OK)
		(void)!to_text(buf_view(&once), &twice);
	buf_release(&once);
	buf_release(&twice);
	return 0;
}
