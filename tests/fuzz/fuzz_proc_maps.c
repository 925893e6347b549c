/* The text of /proc/PID/maps: mappings have a length, and their names lie in the text. */
#include <stdlib.h>

#include "agent/proc_maps.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err check(void *context, const struct sideband_event *e)
{
	const struct str *text = context;

	if (e->kind != SIDEBAND_MAP || e->start >= e->end)
		abort();
	if (e->name.n && (e->name.p < text->p || e->name.p + e->name.n > text->p + text->n ||
			  str_find(e->name, '\n') < e->name.n))
		abort();
	return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = mem_alloc(size + !size);
	struct str text = str_n(copy, size);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (proc_maps_parse(text, &text, check))
		abort();
	mem_free(copy);
	return 0;
}
