/* Writing pprof: samples, and the locations their stacks are made of. */
#include <stdio.h>

#include "base/hash.h"
#include "format/pprof_encoder.h"

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

	TRY(pprof_put_string(e, PPROF_LABEL_KEY, l->key));
	if (l->type == LABEL_INT) {
		pb_put_int(e->out, PPROF_LABEL_NUM, l->value);
		TRY(pprof_put_string(e, PPROF_LABEL_NUM_UNIT, l->unit));
	} else {
		if (l->type == LABEL_BOOL || l->type == LABEL_DOUBLE) {
			buf_clear(&e->scratch);
			label_value(e->d, l, &e->scratch);
			TRY(buf_error(&e->scratch));
			TRY(pprof_text(e, buf_view(&e->scratch), &index));
		} else {
			TRY(pprof_string(e, (uint32_t)l->value, &index));
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

	TRY(pprof_text(e, key, &index));
	pb_put_uint(e->out, PPROF_LABEL_KEY, index);
	TRY(pprof_text(e, value, &index));
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

enum err pprof_put_sample(struct pprof_encoder *e, size_t i)
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
