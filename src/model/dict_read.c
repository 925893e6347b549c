/*
 * Reading a dictionary: names and labels for people, sequences for loops.
 */
#include <inttypes.h>

#include "base/buf.h"
#include "model/dict.h"

uint32_t dict_find_string(const struct dict *d, struct str text)
{
	MAP_PROBE(&d->strings.index, content_string(d, text), id)
	{
		if (str_eq(dict_str(d, id), text))
			return id;
	}
	return MAP_NONE;
}

enum err dict_label_text(struct dict *d, struct str key, struct str value, uint32_t *ret)
{
	struct label l = {.type = LABEL_STRING};
	uint32_t text;

	TRY(dict_string(d, key, &l.key));
	TRY(dict_string(d, value, &text));
	l.value = text;
	return dict_label(d, &l, ret);
}

enum err dict_named_frame(struct dict *d, struct str name, uint32_t *ret)
{
	struct function f = {0};
	struct frame frame = {.flags = FRAME_HAS_LINE};

	TRY(dict_string(d, name, &f.name));
	TRY(dict_function(d, &f, &frame.function));
	return dict_frame(d, &frame, ret);
}

struct str frame_name(const struct dict *d, uint32_t frame)
{
	const struct function *f = &d->functions.v[d->frames.v[frame].function];

	return dict_str(d, f->name ? f->name : f->system_name);
}

struct str frame_file(const struct dict *d, uint32_t frame)
{
	return dict_str(d, d->functions.v[d->frames.v[frame].function].file);
}

const uint32_t *stack_frames(const struct dict *d, uint32_t stack, uint32_t *ret_n)
{
	const struct sequence *s = &d->stacks.entries.v[stack];

	*ret_n = s->n;
	/* The pool may be NULL as long as it has nothing: no pointer is made from that. */
	return s->n ? d->stacks.pool.v + s->at : NULL;
}

uint32_t stack_location_length(const struct dict *d, const uint32_t *frames, uint32_t n)
{
	uint32_t length = 1;

	while (length < n && d->frames.v[frames[length - 1]].flags & FRAME_INLINED) {
		const struct frame *inner = &d->frames.v[frames[length - 1]];
		const struct frame *outer = &d->frames.v[frames[length]];

		if (inner->address != outer->address || inner->mapping != outer->mapping)
			break;
		length++;
	}
	return length;
}

const uint32_t *label_set_items(const struct dict *d, uint32_t set, uint32_t *ret_n)
{
	const struct sequence *s = &d->label_sets.entries.v[set];

	*ret_n = s->n;
	return s->n ? d->label_sets.pool.v + s->at : NULL;
}

const struct label *label_find(const struct dict *d, uint32_t set, struct str key)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &d->labels.v[items[i]];

		if (str_eq(dict_str(d, l->key), key))
			return l;
	}
	return NULL;
}

void label_value(const struct dict *d, const struct label *l, struct buf *out)
{
	double number;

	switch (l->type) {
	case LABEL_STRING:
	case LABEL_JSON:
	case LABEL_BYTES:
		buf_str(out, dict_str(d, (uint32_t)l->value));
		break;
	case LABEL_INT:
		buf_i64(out, l->value);
		break;
	case LABEL_BOOL:
		buf_text(out, l->value ? "true" : "false");
		break;
	case LABEL_DOUBLE:
		memcpy(&number, &l->value, sizeof(number));
		buf_printf(out, "%.17g", number);
		break;
	}
}

void frame_label(const struct dict *d, uint32_t frame, struct buf *out)
{
	const struct frame *f = &d->frames.v[frame];
	const struct mapping *m = &d->mappings.v[f->mapping];
	struct str name = frame_name(d, frame), file = dict_str(d, m->file);

	if (name.n) {
		buf_str(out, name);
		return;
	}
	if (!file.n) {
		buf_printf(out, "0x%" PRIx64, f->address);
		return;
	}
	buf_str(out, str_skip(file, str_find(file, '/') < file.n ? str_rfind(file, '/') + 1 : 0));
	buf_printf(out, "+0x%" PRIx64, f->address - m->start + m->offset);
}
