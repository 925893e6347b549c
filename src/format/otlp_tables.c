#include "format/otlp_tables.h"

void otlp_tables_init(struct otlp_tables *t, const struct limits *limits)
{
	size_t ceiling;

	*t = (struct otlp_tables){0};
	/* Copies take at most a few times the size of the file; the rest is slices. */
	if (__builtin_mul_overflow(limits->max_bytes, (size_t)8, &ceiling))
		ceiling = SIZE_MAX;
	arena_init(&t->arena, ceiling);
	buf_init(&t->encoded_stacks, ceiling);
}

void otlp_tables_clear(struct otlp_tables *t)
{
	size_t ceiling = t->arena.ceiling;

	arena_release(&t->arena);
	arena_init(&t->arena, ceiling);
	t->has_dictionary = false;
	t->mappings.n = t->locations.n = t->functions.n = t->links.n = 0;
	t->strings.n = t->attributes.n = t->stacks.n = t->packed_stacks.n = 0;
	t->resources.n = t->scopes.n = t->profiles.n = t->samples.n = 0;
	t->indices.n = t->lines.n = t->values.n = t->times.n = 0;
	buf_clear(&t->encoded_stacks);
}

void otlp_tables_release(struct otlp_tables *t)
{
	if (!t)
		return;
	arena_release(&t->arena);
	vec_release(&t->mappings);
	vec_release(&t->locations);
	vec_release(&t->functions);
	vec_release(&t->links);
	vec_release(&t->strings);
	vec_release(&t->attributes);
	vec_release(&t->stacks);
	vec_release(&t->packed_stacks);
	buf_release(&t->encoded_stacks);
	vec_release(&t->resources);
	vec_release(&t->scopes);
	vec_release(&t->profiles);
	vec_release(&t->samples);
	vec_release(&t->indices);
	vec_release(&t->lines);
	vec_release(&t->values);
	vec_release(&t->times);
}

enum err otlp_string_at(const struct otlp_tables *t, int64_t index, struct str *ret)
{
	/* Index 0 is "not set" even in a file that forgot its zero entry. */
	if (index == 0) {
		*ret = (struct str){0};
		return ERR_OK;
	}
	if (index < 0 || (uint64_t)index >= t->strings.n)
		return ERR_BAD_INDEX;
	*ret = t->strings.v[index];
	return ERR_OK;
}

enum err otlp_finish(const struct writing *in, struct buf *plain, struct buf *out)
{
	TRY(buf_error(plain));
	switch (in->compress) {
	case 1:
		return compress_gzip(buf_view(plain), 6, out);
	case 2:
		return compress_zstd(buf_view(plain), 3, out);
	default:
		buf_append(out, plain->data, plain->n);
		return buf_error(out);
	}
}
