/*
 * Writing pprof (profile.proto). Ids are dense and in order of first use; only what the samples
 * use is written, and the mappings of the file in their order, because tools take the first for
 * the main binary.
 */
#include <stdio.h>

#include "base/hash.h"
#include "format/pprof_encoder.h"

#define MAX_SCRATCH ((size_t)64 << 20)

static enum err renumber_init(struct renumber *r, size_t n)
{
	r->number = mem_zalloc(n, sizeof(*r->number));
	return r->number ? ERR_OK : ERR_NO_MEMORY;
}

static void renumber_release(struct renumber *r)
{
	mem_free(r->number);
	vec_release(&r->order);
}

enum err pprof_text(struct pprof_encoder *e, struct str text, uint64_t *ret)
{
	uint64_t hash = content_string(e->d, text);
	struct str copy;

	MAP_PROBE(&e->extra_index, hash, index)
	{
		uint32_t id = e->strings.order.v[index];

		if (str_eq(e->extra.v[id - e->d->strings.n], text)) {
			*ret = index;
			return ERR_OK;
		}
	}
	copy = str_n(arena_copy(&e->arena, text), text.n);
	if (!copy.p)
		return ERR_NO_MEMORY;
	TRY(vec_push(&e->strings.order, (uint32_t)(e->d->strings.n + e->extra.n)));
	TRY(vec_push(&e->extra, copy));
	*ret = e->strings.order.n - 1;
	return map_put(&e->extra_index, hash, (uint32_t)*ret);
}

static struct str string_at(const struct pprof_encoder *e, size_t index)
{
	uint32_t id = e->strings.order.v[index];

	return id < e->d->strings.n ? dict_str(e->d, id) : e->extra.v[id - e->d->strings.n];
}

static void put_nonzero(struct buf *b, uint32_t field, uint64_t value)
{
	if (value)
		pb_put_uint(b, field, value);
}

static enum err put_value_type(struct pprof_encoder *e, uint32_t field, struct value_type t)
{
	size_t mark = pb_begin(e->out, field);

	TRY(pprof_put_string(e, PPROF_VALUE_TYPE, t.type));
	TRY(pprof_put_string(e, PPROF_VALUE_UNIT, t.unit));
	pb_end(e->out, mark);
	return ERR_OK;
}
static enum err put_mapping(struct pprof_encoder *e, uint32_t number, uint32_t id)
{
	const struct mapping *m = &e->d->mappings.v[id];
	size_t mark = pb_begin(e->out, PPROF_MAPPING);
	uint32_t build_id = m->build_id	     ? m->build_id
			    : m->go_build_id ? m->go_build_id
					     : m->htl_hash;

	pb_put_uint(e->out, PPROF_MAPPING_ID, number);
	put_nonzero(e->out, PPROF_MAPPING_START, m->start);
	put_nonzero(e->out, PPROF_MAPPING_LIMIT, m->limit);
	put_nonzero(e->out, PPROF_MAPPING_OFFSET, m->offset);
	TRY(pprof_put_string(e, PPROF_MAPPING_FILENAME, m->file));
	TRY(pprof_put_string(e, PPROF_MAPPING_BUILD_ID, build_id));
	put_nonzero(e->out, PPROF_MAPPING_HAS_FUNCTIONS, !!(m->flags & MAPPING_HAS_FUNCTIONS));
	put_nonzero(e->out, PPROF_MAPPING_HAS_FILENAMES, !!(m->flags & MAPPING_HAS_FILENAMES));
	put_nonzero(e->out, PPROF_MAPPING_HAS_LINES, !!(m->flags & MAPPING_HAS_LINES));
	put_nonzero(e->out, PPROF_MAPPING_HAS_INLINES, !!(m->flags & MAPPING_HAS_INLINES));
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err put_line(struct pprof_encoder *e, const struct frame *frame)
{
	size_t mark;
	uint32_t function;

	if (!(frame->flags & FRAME_HAS_LINE) && !frame->function && !frame->line)
		return ERR_OK;
	mark = pb_begin(e->out, PPROF_LOCATION_LINE);
	if (frame->function) {
		TRY(renumber_get(&e->functions, frame->function, &function));
		pb_put_uint(e->out, PPROF_LINE_FUNCTION, function);
	}
	put_nonzero(e->out, PPROF_LINE_LINE, (uint64_t)frame->line);
	put_nonzero(e->out, PPROF_LINE_COLUMN, frame->column);
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err put_location(struct pprof_encoder *e, size_t i)
{
	const uint32_t *run = e->run_frames.v + e->locations.v[i].at;
	uint32_t n = e->locations.v[i].n, mapping;
	const struct frame *physical = &e->d->frames.v[run[n - 1]];
	size_t mark = pb_begin(e->out, PPROF_LOCATION);

	pb_put_uint(e->out, PPROF_LOCATION_ID, i + 1);
	if (physical->mapping) {
		TRY(renumber_get(&e->mappings, physical->mapping, &mapping));
		pb_put_uint(e->out, PPROF_LOCATION_MAPPING, mapping);
	}
	put_nonzero(e->out, PPROF_LOCATION_ADDRESS, physical->address);
	for (uint32_t k = 0; k < n; k++)
		TRY(put_line(e, &e->d->frames.v[run[k]]));
	put_nonzero(e->out, PPROF_LOCATION_IS_FOLDED, !!(physical->flags & FRAME_FOLDED));
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err put_function(struct pprof_encoder *e, size_t i)
{
	const struct function *f = &e->d->functions.v[e->functions.order.v[i]];
	size_t mark = pb_begin(e->out, PPROF_FUNCTION);

	pb_put_uint(e->out, PPROF_FUNCTION_ID, i + 1);
	TRY(pprof_put_string(e, PPROF_FUNCTION_NAME, f->name));
	TRY(pprof_put_string(e, PPROF_FUNCTION_SYSTEM_NAME, f->system_name));
	TRY(pprof_put_string(e, PPROF_FUNCTION_FILENAME, f->file));
	put_nonzero(e->out, PPROF_FUNCTION_START_LINE, (uint64_t)f->start_line);
	pb_end(e->out, mark);
	return ERR_OK;
}

/* What produced the profile has no field in pprof; a comment keeps it readable. */
static enum err put_resource_comments(struct pprof_encoder *e)
{
	uint32_t n;
	const uint32_t *items = label_set_items(e->d, e->p->resource, &n);
	uint64_t index;

	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &e->d->labels.v[items[i]];

		buf_clear(&e->scratch);
		buf_str(&e->scratch, dict_str(e->d, l->key));
		buf_byte(&e->scratch, '=');
		label_value(e->d, l, &e->scratch);
		TRY(buf_error(&e->scratch));
		TRY(pprof_text(e, buf_view(&e->scratch), &index));
		pb_put_uint(e->out, PPROF_COMMENT, index);
	}
	return ERR_OK;
}

static enum err put_header(struct pprof_encoder *e)
{
	const struct profile *p = e->p;
	uint64_t index;

	TRY(pprof_put_string(e, PPROF_DROP_FRAMES, p->drop_frames));
	TRY(pprof_put_string(e, PPROF_KEEP_FRAMES, p->keep_frames));
	put_nonzero(e->out, PPROF_TIME_NANOS, (uint64_t)p->time_ns);
	put_nonzero(e->out, PPROF_DURATION_NANOS, (uint64_t)p->duration_ns);
	if (p->period_type.type || p->period_type.unit)
		TRY(put_value_type(e, PPROF_PERIOD_TYPE, p->period_type));
	put_nonzero(e->out, PPROF_PERIOD, (uint64_t)p->period);
	for (size_t i = 0; i < p->comments.n; i++) {
		TRY(pprof_string(e, p->comments.v[i], &index));
		pb_put_uint(e->out, PPROF_COMMENT, index);
	}
	TRY(put_resource_comments(e));
	if (p->default_type >= 0)
		TRY(pprof_put_string(e, PPROF_DEFAULT_SAMPLE_TYPE, p->types[p->default_type].type));
	return pprof_put_string(e, PPROF_DOC_URL, p->doc_url);
}

/* Bytes the samples will take, most of a file. */
static size_t about(const struct pprof_encoder *e)
{
	size_t bytes = 0;

	for (size_t i = 0; i < e->p->row_count; i++)
		bytes += 16 + (size_t)e->d->stacks.entries.v[e->p->stack[i]].n * 3;
	return bytes;
}

static enum err encode(struct pprof_encoder *e)
{
	uint32_t number;

	buf_expect(e->out, about(e));
	TRY(renumber_get(&e->strings, STR_EMPTY, &number));
	for (size_t i = 0; i < e->p->mappings.n; i++)
		TRY(renumber_get(&e->mappings, e->p->mappings.v[i], &number));
	for (uint32_t i = 0; i < e->p->type_count; i++)
		TRY(put_value_type(e, PPROF_SAMPLE_TYPE, e->p->types[i]));
	for (size_t i = 0; i < e->p->row_count; i++)
		TRY(pprof_put_sample(e, i));
	for (size_t i = 0; i < e->locations.n; i++)
		TRY(put_location(e, i));
	for (size_t i = 0; i < e->mappings.order.n; i++)
		TRY(put_mapping(e, (uint32_t)i + 1, e->mappings.order.v[i]));
	for (size_t i = 0; i < e->functions.order.n; i++)
		TRY(put_function(e, i));
	TRY(put_header(e));
	for (size_t i = 0; i < e->strings.order.n; i++)
		pb_put_bytes(e->out, PPROF_STRING_TABLE, string_at(e, i));
	return buf_error(e->out);
}

static enum err encoder_init(struct pprof_encoder *e)
{
	TRY(renumber_init(&e->strings, e->d->strings.n));
	TRY(renumber_init(&e->functions, e->d->functions.n));
	TRY(renumber_init(&e->mappings, e->d->mappings.n));
	e->single = mem_zalloc(e->d->frames.n, sizeof(*e->single));
	e->coded = mem_zalloc(e->d->frames.n, sizeof(*e->coded));
	return e->single && e->coded ? ERR_OK : ERR_NO_MEMORY;
}

static void encoder_release(struct pprof_encoder *e)
{
	renumber_release(&e->strings);
	renumber_release(&e->functions);
	renumber_release(&e->mappings);
	mem_free(e->single);
	mem_free(e->coded);
	map_release(&e->runs);
	map_release(&e->extra_index);
	vec_release(&e->locations);
	vec_release(&e->run_frames);
	vec_release(&e->extra);
	buf_release(&e->scratch);
	arena_release(&e->arena);
}

enum err pprof_encode(const struct profile *p, struct buf *out)
{
	struct pprof_encoder e = {.p = p, .d = p->dict, .out = out};
	enum err error;

	buf_init(&e.scratch, MAX_SCRATCH);
	error = encoder_init(&e);
	if (!error)
		error = encode(&e);
	encoder_release(&e);
	return error;
}

enum err pprof_write(struct writing *in, struct buf *out)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(out->ceiling);

	TRY(pprof_encode(in->list->v[0], in->compress == 0 ? out : &plain));
	if (in->list->v[0]->time)
		notes_add(&in->notes, "pprof has no time per sample: dropped");
	switch (in->compress) {
	case 0:
		return ERR_OK;
	case 2:
		return compress_zstd(buf_view(&plain), 3, out);
	default:
		return compress_gzip(buf_view(&plain), 6, out);
	}
}
