/*
 * tree, trie, groups and lines: the first byte says which. No stack twice, no value below 1.
 */
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err read(char kind, struct str bytes, struct reading *out)
{
	switch (kind) {
	case 't':
		return pyroscope_tree_read(bytes, out);
	case 'i':
		return pyroscope_trie_read(bytes, out);
	case 'g':
		return pyroscope_groups_read(bytes, out);
	default:
		return pyroscope_lines_read(bytes, out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dict d;
	struct profile_list list = {0};
	struct reading out = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
	const struct profile *p;

	out.limits.max_depth = 64;
	if (!size || dict_init(&d, 1))
		return 0;
	if (!read((char)data[0], str_n(data + 1, size - 1), &out)) {
		p = list.v[0];
		for (size_t i = 0; i < p->row_count; i++)
			if (p->values[i] < 1 || !p->stack[i] || p->stack[i] >= d.stacks.entries.n)
				abort();
	}
	profile_list_release(&list);
	notes_release(&out.notes);
	dict_release(&d);
	return 0;
}
