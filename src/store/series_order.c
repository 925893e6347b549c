/*
 * The labels of an index in order: by name, then by value. Made when a query needs it; labels that
 * came since are sorted in.
 */
#include "store/series_index.h"
#include "store/text_order.h"

static struct str value_of(const void *context, uint32_t label)
{
	const struct series_index *x = context;

	return x->texts.v[x->labels.v[label].value];
}

static uint32_t name_of(const void *context, uint32_t label)
{
	const struct series_index *x = context;

	return x->labels.v[label].name;
}

static int compare(const struct series_index *x, uint32_t a, uint32_t b)
{
	uint32_t left = name_of(x, a), right = name_of(x, b);

	return left != right ? (left > right) - (left < right)
			     : str_cmp(value_of(x, a), value_of(x, b));
}

/* How many of the first `n` are before a label. */
static size_t count_before(const struct series_index *x, size_t n, uint32_t label)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (compare(x, x->by_value.v[middle], label) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* From the last on, so that each entry moves once. */
static enum err sort_in(struct series_index *x, const uint32_t *fresh, size_t n)
{
	size_t end = x->by_value.n, all = end + n;
	uint32_t *v;

	TRY(vec_reserve(&x->by_value, n));
	v = x->by_value.v;
	while (n-- > 0) {
		size_t at = count_before(x, end, fresh[n]);

		memmove(v + at + n + 1, v + at, (end - at) * sizeof(*v));
		v[at + n] = fresh[n];
		end = at;
	}
	x->by_value.n = all;
	return ERR_OK;
}

enum err series_index_order(struct series_index *x)
{
	const struct text_source from = {x, value_of, name_of};
	size_t n = x->labels.n - x->by_value.n;
	CLEANUP(mem_free_ptr) uint32_t *fresh = NULL;

	if (!n)
		return ERR_OK;
	fresh = mem_zalloc(n, sizeof(*fresh));
	if (!fresh)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		fresh[i] = (uint32_t)(x->by_value.n + i);
	TRY(text_order(&from, fresh, n));
	return sort_in(x, fresh, n);
}

/* The first entry of a name, or where it would be. */
static size_t begin_of(const struct series_index *x, uint32_t name)
{
	size_t low = 0, high = x->by_value.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (name_of(x, x->by_value.v[middle]) < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t series_index_labels_of(const struct series_index *x, uint32_t name, const uint32_t **ret)
{
	size_t first = begin_of(x, name), end = begin_of(x, name + 1);

	*ret = x->by_value.v + first;
	return end - first;
}
