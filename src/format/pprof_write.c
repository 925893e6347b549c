/*
 * Writing pprof (profile.proto). Ids are dense and in order of first use; only what the samples
 * use is written, and the mappings of the file in their order, because tools take the first for
 * the main binary.
 */
#include <stdio.h>

#include "base/hash.h"
#include "format/formats_internal.h"
#include "format/pprof.h"

#define MAX_SCRATCH ((size_t)64 << 20)

/* Dense numbers for dictionary ids, given in order of first use. */
struct renumber {
	uint32_t *number; /* by dictionary id; 0 = not used yet */
	VEC(uint32_t) order;
};

struct pprof_encoder {
	const struct profile *p;
	const struct dict *d;
	struct buf *out;
	struct renumber strings, functions, mappings;
	/* Text the dictionary does not have: numbers as text, ids of spans. */
	struct arena arena;
	VEC(struct str) extra;
	struct map extra_index;
	/* Locations: a run of frames that are one place in the program. */
	uint32_t *single;	    /* by frame that is not inlined: its location, 0 = none yet */
	uint32_t *coded;	    /* the same as pb_coded() has it, 0 = not so */
	struct map runs;	    /* longer ones, by hash of their frames */
	VEC(struct span) locations; /* into run_frames */
	VEC(uint32_t) run_frames;
	struct buf scratch;
};

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

/* 1, 2, 3 …; strings count from 0 because their entry 0 is the empty one. */
static enum err renumber_get(struct renumber *r, uint32_t id, uint32_t *ret)
{
	if (!r->number[id]) {
		TRY(vec_push(&r->order, id));
		r->number[id] = (uint32_t)r->order.n;
	}
	*ret = r->number[id];
	return ERR_OK;
}

static enum err string_index(struct pprof_encoder *e, uint32_t id, uint64_t *ret)
{
	uint32_t number;

	TRY(renumber_get(&e->strings, id, &number));
	*ret = number - 1;
	return ERR_OK;
}

/* The same for text of our own making; in `order` it counts on behind the dictionary's ids. */
static enum err text_index(struct pprof_encoder *e, struct str text, uint64_t *ret)
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

static enum err put_string_field(struct pprof_encoder *e, uint32_t field, uint32_t string)
{
	uint64_t index;

	if (!string)
		return ERR_OK;
	TRY(string_index(e, string, &index));
	pb_put_uint(e->out, field, index);
	return ERR_OK;
}

static void put_nonzero(struct buf *b, uint32_t field, uint64_t value)
{
	if (value)
		pb_put_uint(b, field, value);
}

static enum err put_value_type(struct pprof_encoder *e, uint32_t field, struct value_type t)
{
	size_t mark = pb_begin(e->out, field);

	TRY(put_string_field(e, PPROF_VALUE_TYPE, t.type));
	TRY(put_string_field(e, PPROF_VALUE_UNIT, t.unit));
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err add_location(struct pprof_encoder *e, const uint32_t *frames, uint32_t n,
			     uint32_t *ret)
{
	struct span run = {(uint32_t)e->run_frames.n, n};

	TRY(vec_append(&e->run_frames, frames, n));
	TRY(vec_push(&e->locations, run));
	*ret = (uint32_t)e->locations.n;
	return ERR_OK;
}

/* The location for a run that begins with an inlined frame, leaf-most first. */
static enum err inlined_location(struct pprof_encoder *e, const uint32_t *frames, uint32_t n,
				 uint32_t *ret)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = hash_mix(hash, frames[i]);
	MAP_PROBE(&e->runs, hash, id)
	{
		const struct span *s = &e->locations.v[id - 1];

		if (s->n == n && memcmp(e->run_frames.v + s->at, frames, n * 4) == 0) {
			*ret = id;
			return ERR_OK;
		}
	}
	TRY(add_location(e, frames, n, ret));
	return map_put(&e->runs, hash, *ret);
}

/* The location that begins with a frame: at its first use, with inlined frames, or of a number that
 * is not made ready. Moves *i behind its frames. */
static enum err put_any_location(struct pprof_encoder *e, const uint32_t *frames, uint32_t n,
				 uint32_t *i, char **at)
{
	uint32_t length = 1, location = e->single[frames[*i]];

	if (!location && e->d->frames.v[frames[*i]].flags & FRAME_INLINED) {
		length = stack_location_length(e->d, frames + *i, n - *i);
		TRY(inlined_location(e, frames + *i, length, &location));
	} else if (!location) {
		uint32_t coded;

		TRY(add_location(e, frames + *i, 1, &location));
		e->single[frames[*i]] = location;
		coded = pb_coded(location);
		e->coded[frames[*i]] = coded == PB_CODED_LONG ? 0 : coded;
	}
	*at = pb_raw_varint(*at, location);
	*i += length;
	return ERR_OK;
}

/* A frame that is not inlined is a location by itself, and after its first time found at once. */
static enum err put_stack(struct pprof_encoder *e, uint32_t stack)
{
	uint32_t n, i = 0;
	const uint32_t *frames = stack_frames(e->d, stack, &n);
	char *at;

	if (!n)
		return ERR_OK;
	at = pb_list_begin(e->out, PPROF_SAMPLE_LOCATION, n);
	if (!at)
		return buf_error(e->out);
	while (i < n) {
		uint32_t coded = e->coded[frames[i]];

		if (__builtin_expect(coded != 0, 1)) {
			at = pb_list_put(at, coded);
			i++;
			continue;
		}
		TRY(put_any_location(e, frames, n, &i, &at));
	}
	pb_list_end(e->out, n, at);
	return ERR_OK;
}

static enum err put_label(struct pprof_encoder *e, const struct label *l)
{
	size_t mark = pb_begin(e->out, PPROF_SAMPLE_LABEL);
	uint64_t index;

	TRY(put_string_field(e, PPROF_LABEL_KEY, l->key));
	if (l->type == LABEL_INT) {
		pb_put_int(e->out, PPROF_LABEL_NUM, l->value);
		TRY(put_string_field(e, PPROF_LABEL_NUM_UNIT, l->unit));
	} else {
		if (l->type == LABEL_BOOL || l->type == LABEL_DOUBLE) {
			buf_clear(&e->scratch);
			label_value(e->d, l, &e->scratch);
			TRY(buf_error(&e->scratch));
			TRY(text_index(e, buf_view(&e->scratch), &index));
		} else {
			TRY(string_index(e, (uint32_t)l->value, &index));
		}
		pb_put_uint(e->out, PPROF_LABEL_STR, index);
	}
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err put_text_label(struct pprof_encoder *e, struct str key, struct str value)
{
	size_t mark = pb_begin(e->out, PPROF_SAMPLE_LABEL);
	uint64_t index;

	TRY(text_index(e, key, &index));
	pb_put_uint(e->out, PPROF_LABEL_KEY, index);
	TRY(text_index(e, value, &index));
	pb_put_uint(e->out, PPROF_LABEL_STR, index);
	pb_end(e->out, mark);
	return ERR_OK;
}

static enum err put_labels(struct pprof_encoder *e, uint32_t set)
{
	uint32_t n;
	const uint32_t *items = label_set_items(e->d, set, &n);

	for (uint32_t i = 0; i < n; i++)
		TRY(put_label(e, &e->d->labels.v[items[i]]));
	return ERR_OK;
}

static void hex(const uint8_t *bytes, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* pprof has no links: they travel as the labels every tool of the field uses. */
static enum err put_link(struct pprof_encoder *e, uint32_t link, uint32_t labels)
{
	const struct link *l = &e->d->links.v[link];
	char trace[33], span[17];

	if (!link || label_find(e->d, labels, STR("span_id")))
		return ERR_OK;
	hex(l->trace_id, 16, trace);
	hex(l->span_id, 8, span);
	TRY(put_text_label(e, STR("trace_id"), str_of(trace)));
	return put_text_label(e, STR("span_id"), str_of(span));
}

static enum err put_sample(struct pprof_encoder *e, size_t i)
{
	struct row row = profile_row(e->p, i);
	size_t sample = pb_begin(e->out, PPROF_SAMPLE), packed;

	TRY(put_stack(e, row.stack));
	packed = pb_begin(e->out, PPROF_SAMPLE_VALUE);
	for (uint32_t t = 0; t < e->p->type_count; t++)
		pb_put_varint(e->out, (uint64_t)profile_values(e->p, i)[t]);
	pb_end(e->out, packed);
	TRY(put_labels(e, row.labels));
	TRY(put_link(e, row.link, row.labels));
	pb_end(e->out, sample);
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
	TRY(put_string_field(e, PPROF_MAPPING_FILENAME, m->file));
	TRY(put_string_field(e, PPROF_MAPPING_BUILD_ID, build_id));
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
	TRY(put_string_field(e, PPROF_FUNCTION_NAME, f->name));
	TRY(put_string_field(e, PPROF_FUNCTION_SYSTEM_NAME, f->system_name));
	TRY(put_string_field(e, PPROF_FUNCTION_FILENAME, f->file));
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
		TRY(text_index(e, buf_view(&e->scratch), &index));
		pb_put_uint(e->out, PPROF_COMMENT, index);
	}
	return ERR_OK;
}

static enum err put_header(struct pprof_encoder *e)
{
	const struct profile *p = e->p;
	uint64_t index;

	TRY(put_string_field(e, PPROF_DROP_FRAMES, p->drop_frames));
	TRY(put_string_field(e, PPROF_KEEP_FRAMES, p->keep_frames));
	put_nonzero(e->out, PPROF_TIME_NANOS, (uint64_t)p->time_ns);
	put_nonzero(e->out, PPROF_DURATION_NANOS, (uint64_t)p->duration_ns);
	if (p->period_type.type || p->period_type.unit)
		TRY(put_value_type(e, PPROF_PERIOD_TYPE, p->period_type));
	put_nonzero(e->out, PPROF_PERIOD, (uint64_t)p->period);
	for (size_t i = 0; i < p->comments.n; i++) {
		TRY(string_index(e, p->comments.v[i], &index));
		pb_put_uint(e->out, PPROF_COMMENT, index);
	}
	TRY(put_resource_comments(e));
	if (p->default_type >= 0)
		TRY(put_string_field(e, PPROF_DEFAULT_SAMPLE_TYPE, p->types[p->default_type].type));
	return put_string_field(e, PPROF_DOC_URL, p->doc_url);
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
		TRY(put_sample(e, i));
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
