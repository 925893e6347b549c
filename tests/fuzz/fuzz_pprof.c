/*
 * pprof: whatever is read is written and read again, and must then be the same: as many rows,
 * the same sums, the same stacks by content. The same again when the reader goes its plain way,
 * without what this processor can do.
 */
#include <stdlib.h>

#include "format/formats_internal.h"
#include "format/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
	size_t rows;
	uint64_t values, stacks;
};

static struct sums sum(const struct profile *p)
{
	struct sums s = {.rows = p->row_count};

	for (size_t i = 0; i < p->row_count; i++) {
		s.stacks += stack_hash(p->dict, p->stack[i]);
		for (uint32_t t = 0; t < p->type_count; t++)
			s.values += (uint64_t)profile_values(p, i)[t] * (t + 1);
	}
	return s;
}

static enum err read(struct str bytes, struct dict *d, struct profile_list *list)
{
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};
	enum err e = pprof_read(bytes, &r);

	notes_release(&r.notes);
	return e;
}

static bool same(const struct profile *a, const struct profile *b)
{
	struct sums x = sum(a), y = sum(b);

	return x.rows == y.rows && x.values == y.values && x.stacks == y.stacks;
}

static void write_and_compare(struct profile_list *list)
{
	struct writing w = {.list = list, .type = -1, .compress = 0};
	struct buf out = BUF_INIT((size_t)1 << 30);
	struct profile_list again = {0};
	struct dict d;

	if (pprof_write(&w, &out) || dict_init(&d, list->v[0]->dict->seed))
		abort();
	if (read(buf_view(&out), &d, &again))
		abort();
	if (!same(list->v[0], again.v[0]))
		abort();
	notes_release(&w.notes);
	profile_list_release(&again);
	dict_release(&d);
	buf_release(&out);
}

static void compare_ways(struct str bytes, const struct profile_list *list, enum err e)
{
	struct profile_list plain = {0};
	struct dict d;

	for (pprof_means = PPROF_PLAIN; pprof_means < PPROF_EVERYTHING; pprof_means++) {
		if (dict_init(&d, 1) || read(bytes, &d, &plain) != e)
			abort();
		if (!e && (list->n != plain.n || !same(list->v[0], plain.v[0])))
			abort();
		profile_list_release(&plain);
		dict_release(&d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dict d;
	struct profile_list list = {0};
	enum err e;

	(void)pprof_sniff(str_n(data, size));
	if (dict_init(&d, 1))
		abort();
	e = read(str_n(data, size), &d, &list);
	if (!e)
		write_and_compare(&list);
	compare_ways(str_n(data, size), &list, e);
	profile_list_release(&list);
	dict_release(&d);
	return 0;
}
