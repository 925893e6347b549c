/*
 * Deltas of the index of series; the checksum is made to fit. The first byte says where the input
 * is cut into two deltas of one service. Whatever was taken, every number that the index has refers
 * to something.
 */
#include <stdlib.h>

#include "store/series_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err apply(struct series_index *x, const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT((size_t)1 << 28);
	enum err e;

	buf_append(&bytes, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	buf_append(&bytes, data, size);
	blob_seal(&bytes, 0, SERIES_DELTA_VERSION);
	e = buf_error(&bytes);
	if (!e)
		e = series_delta_apply(x, 1, buf_view(&bytes));
	buf_release(&bytes);
	return e;
}

static void check_series(const struct series_index *x, const struct index_series *s)
{
	if (s->type_set >= x->type_sets.n ||
	    (uint64_t)s->labels_at + s->label_count > x->label_pool.n)
		abort();
	for (uint32_t k = 0; k < s->label_count; k++) {
		uint32_t label = x->label_pool.v[s->labels_at + k];

		if (label >= x->labels.n || x->labels.v[label].name >= x->texts.n ||
		    x->labels.v[label].value >= x->texts.n)
			abort();
	}
}

static void check(const struct series_index *x)
{
	vec_for_each (service, &x->services) {
		for (size_t i = 0; i < service->series.n; i++) {
			if (service->series.v[i] >= x->series.n)
				abort();
			check_series(x, &x->series.v[service->series.v[i]]);
		}
		for (size_t i = 0; i < service->types.n; i++)
			if (service->types.v[i] >= x->types.n)
				abort();
		for (size_t i = 0; i < service->labels.n; i++)
			if (service->labels.v[i] >= x->labels.n)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series_index x;
	size_t cut;

	if (!size)
		return 0;
	cut = 1 + data[0] * (size - 1) / 255;
	if (series_index_init(&x, 1))
		abort();
	if (!apply(&x, data + 1, cut - 1) && cut < size && apply(&x, data + cut, size - cut))
		series_index_forget(&x, 1);
	check(&x);
	series_index_release(&x);
	return 0;
}
