/* The JFR reader fed with anything: no crash, no leak, no row that points outside its tables. */
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct profile *p)
{
	const struct dict *d = p->dict;

	for (size_t i = 0; i < p->row_count; i++) {
		struct row row = profile_row(p, i);

		if (row.stack >= d->stacks.entries.n || row.labels >= d->label_sets.entries.n ||
		    row.link >= d->links.n)
			abort();
		for (uint32_t t = 0; t < p->type_count; t++)
			if (profile_values(p, i)[t] < 0)
				abort();
	}
}

static void read_once(struct str bytes, bool first_type_only)
{
	struct dict d;
	struct profile_list list = {0};
	struct reading r = {.dict = &d,
			    .list = &list,
			    .limits = LIMITS_DEFAULT,
			    .first_type_only = first_type_only};

	if (dict_init(&d, 1) != ERR_OK)
		return;
	r.limits.max_bytes = 16 << 20;
	if (format_read(bytes, &formats[FORMAT_JFR], &r, NULL) == ERR_OK)
		for (size_t i = 0; i < list.n; i++)
			check_rows(list.v[i]);
	else if (!r.fault.text[0])
		abort();
	profile_list_release(&list);
	notes_release(&r.notes);
	dict_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_once(str_n(data, size), false);
	read_once(str_n(data, size), true);
	return 0;
}
