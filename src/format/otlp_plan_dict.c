/*
 * Our dictionary into the tables of a file.
 */
#include "base/hash.h"
#include "format/otlp_planner.h"
#include "format/protobuf.h"

/* Appends an entry and gives its index; OTLP's are int32. */
#define ADD(table, entry, ret)                         \
	({                                             \
		enum err add_ = ERR_TABLE_FULL;        \
		if ((table)->n < INT32_MAX) {          \
			*(ret) = (int32_t)(table)->n;  \
			add_ = vec_push(table, entry); \
		}                                      \
		add_;                                  \
	})

enum err otlp_plan_zero_entries(struct otlp_planner *p)
{
	struct otlp_tables *t = p->t;

	t->has_dictionary = true;
	TRY(vec_push(&t->mappings, (struct otlp_mapping){0}));
	TRY(vec_push(&t->locations, (struct otlp_location){0}));
	TRY(vec_push(&t->functions, (struct otlp_function){0}));
	TRY(vec_push(&t->links, (struct link){0}));
	TRY(vec_push(&t->strings, (struct str){0}));
	TRY(vec_push(&t->attributes, (struct otlp_attribute){0}));
	if (p->encode)
		pb_put_bytes(&t->encoded_stacks, DICTIONARY_STACKS, (struct str){0});
	return vec_push(&t->stacks, (struct otlp_range){0});
}

enum err otlp_plan_text(struct otlp_planner *p, struct str text, struct str *ret)
{
	char *copy;
	size_t n = 0;

	if (utf8_valid(text)) {
		*ret = text;
		return ERR_OK;
	}
	copy = arena_alloc(&p->t->arena, text.n * 3 + 1);
	if (!copy)
		return ERR_NO_MEMORY;
	while (text.n) {
		size_t length = utf8_length(text);

		memcpy(copy + n, length ? text.p : "\xef\xbf\xbd", length ? length : 3);
		n += length ? length : 3;
		text = str_skip(text, length ? length : 1);
	}
	notes_add(&p->in->notes, "text that is not UTF-8: its invalid bytes were replaced");
	*ret = (struct str){copy, n};
	return ERR_OK;
}

enum err otlp_plan_string(struct otlp_planner *p, uint32_t string, int32_t *ret)
{
	struct str text;

	if (string && !p->strings[string]) {
		TRY(otlp_plan_text(p, dict_str(p->d, string), &text));
		TRY(ADD(&p->t->strings, text, &p->strings[string]));
	}
	*ret = p->strings[string];
	return ERR_OK;
}

static enum err plan_function(struct otlp_planner *p, uint32_t id, int32_t *ret)
{
	const struct function *src = &p->d->functions.v[id];
	struct otlp_function f = {.start_line = src->start_line};

	if (id && !p->functions[id]) {
		TRY(otlp_plan_string(p, src->name, &f.name));
		TRY(otlp_plan_string(p, src->system_name, &f.system_name));
		TRY(otlp_plan_string(p, src->file, &f.file));
		TRY(ADD(&p->t->functions, f, &p->functions[id]));
	}
	*ret = p->functions[id];
	return ERR_OK;
}

enum err otlp_plan_push_text(struct otlp_planner *p, const char *key, uint32_t string)
{
	struct otlp_any value = {.type = ANY_STRING};
	int32_t index;

	if (!string)
		return ERR_OK;
	TRY(otlp_plan_text(p, dict_str(p->d, string), &value.text));
	TRY(otlp_plan_named(p, key, value, &index));
	return vec_push(&p->scratch, index);
}

static enum err push_flag_attribute(struct otlp_planner *p, const char *key, uint32_t set)
{
	int32_t index;

	if (!set)
		return ERR_OK;
	TRY(otlp_plan_named(p, key, (struct otlp_any){.type = ANY_BOOL, .number = 1}, &index));
	return vec_push(&p->scratch, index);
}

static enum err take_scratch(struct otlp_planner *p, struct otlp_range *ret)
{
	*ret = (struct otlp_range){(uint32_t)p->t->indices.n, (uint32_t)p->scratch.n};
	TRY(vec_append(&p->t->indices, p->scratch.v, p->scratch.n));
	p->scratch.n = 0;
	return ERR_OK;
}

enum err otlp_plan_mapping(struct otlp_planner *p, uint32_t id, int32_t *ret)
{
	const struct mapping *m = &p->d->mappings.v[id];
	struct otlp_mapping entry = {.start = m->start, .limit = m->limit, .offset = m->offset};

	if (id && !p->mappings[id]) {
		TRY(otlp_plan_string(p, m->file, &entry.file));
		p->scratch.n = 0;
		TRY(otlp_plan_push_text(p, ATTR_BUILD_ID_GNU, m->build_id));
		TRY(otlp_plan_push_text(p, ATTR_BUILD_ID_GO, m->go_build_id));
		TRY(otlp_plan_push_text(p, ATTR_BUILD_ID_HTL, m->htl_hash));
		TRY(push_flag_attribute(p, ATTR_HAS_FUNCTIONS, m->flags & MAPPING_HAS_FUNCTIONS));
		TRY(push_flag_attribute(p, ATTR_HAS_FILENAMES, m->flags & MAPPING_HAS_FILENAMES));
		TRY(push_flag_attribute(p, ATTR_HAS_LINES, m->flags & MAPPING_HAS_LINES));
		TRY(push_flag_attribute(p, ATTR_HAS_INLINES, m->flags & MAPPING_HAS_INLINES));
		TRY(take_scratch(p, &entry.attributes));
		TRY(ADD(&p->t->mappings, entry, &p->mappings[id]));
	}
	*ret = p->mappings[id];
	return ERR_OK;
}

static enum err plan_line(struct otlp_planner *p, const struct frame *f, struct otlp_range *lines)
{
	struct otlp_line line = {.line = f->line, .column = f->column};

	if (!(f->flags & FRAME_HAS_LINE) && !f->function && !f->line)
		return ERR_OK;
	TRY(plan_function(p, f->function, &line.function));
	TRY(vec_push(&p->t->lines, line));
	lines->n++;
	return ERR_OK;
}

/* A run of frames that are one place in the program, the innermost first. */
static enum err add_location(struct otlp_planner *p, const uint32_t *frames, uint32_t n,
			     int32_t *ret)
{
	const struct frame *physical = &p->d->frames.v[frames[n - 1]];
	struct otlp_location l = {.address = physical->address,
				  .lines.at = (uint32_t)p->t->lines.n};

	TRY(otlp_plan_mapping(p, physical->mapping, &l.mapping));
	for (uint32_t i = 0; i < n; i++)
		TRY(plan_line(p, &p->d->frames.v[frames[i]], &l.lines));
	p->scratch.n = 0;
	TRY(otlp_plan_push_text(p, ATTR_FRAME_TYPE, physical->kind));
	TRY(push_flag_attribute(p, ATTR_IS_FOLDED, physical->flags & FRAME_FOLDED));
	TRY(take_scratch(p, &l.attributes));
	return ADD(&p->t->locations, l, ret);
}

static enum err find_run(struct otlp_planner *p, const uint32_t *frames, uint32_t n, int32_t *ret)
{
	const uint32_t *pool = p->d->stacks.pool.v;
	struct otlp_run run = {.at = (uint32_t)(frames - pool), .n = n};
	uint64_t hash = hash_bytes(frames, n * sizeof(*frames), 0);

	MAP_PROBE(&p->run_index, hash, id)
	{
		const struct otlp_run *known = &p->runs.v[id];

		if (known->n == n && memcmp(pool + known->at, frames, n * sizeof(*frames)) == 0) {
			*ret = known->location;
			return ERR_OK;
		}
	}
	TRY(add_location(p, frames, n, &run.location));
	TRY(map_put(&p->run_index, hash, (uint32_t)p->runs.n));
	*ret = run.location;
	return vec_push(&p->runs, run);
}

/* The location that begins with frames[*i], which moves behind the frames of it. A frame that is
 * not inlined is a location by itself. */
static enum err next_location(struct otlp_planner *p, const uint32_t *frames, uint32_t n,
			      uint32_t *i, int32_t *ret)
{
	uint32_t frame = frames[*i], length = 1, coded;

	*ret = p->single[frame];
	if (!*ret && p->d->frames.v[frame].flags & FRAME_INLINED) {
		length = stack_location_length(p->d, frames + *i, n - *i);
		TRY(find_run(p, frames + *i, length, ret));
	} else if (!*ret && frame) {
		TRY(add_location(p, frames + *i, 1, ret));
		p->single[frame] = *ret;
		coded = pb_coded((uint32_t)*ret);
		p->coded[frame] = coded == PB_CODED_LONG ? 0 : coded;
	}
	*i += length;
	return ERR_OK;
}

/* Locations come first, then the list: adding them uses the same pool. */
static enum err add_stack(struct otlp_planner *p, uint32_t id)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(p->d, id, &n);
	struct otlp_range range = {0};

	p->stack_scratch.n = 0;
	TRY(vec_reserve(&p->stack_scratch, n));
	for (uint32_t i = 0; i < n; p->stack_scratch.n++)
		TRY(next_location(p, frames, n, &i, &p->stack_scratch.v[p->stack_scratch.n]));
	range = (struct otlp_range){(uint32_t)p->t->indices.n, (uint32_t)p->stack_scratch.n};
	TRY(vec_append(&p->t->indices, p->stack_scratch.v, p->stack_scratch.n));
	return ADD(&p->t->stacks, range, &p->stacks[id]);
}

/* The same as it will stand in the file. */
static enum err encode_stack(struct otlp_planner *p, uint32_t id)
{
	struct buf *out = &p->t->encoded_stacks;
	uint32_t n, i = 0;
	const uint32_t *frames = stack_frames(p->d, id, &n);
	size_t mark = pb_begin(out, DICTIONARY_STACKS);
	char *at = pb_list_begin(out, STACK_LOCATIONS, n);
	int32_t location;

	if (!at)
		return buf_error(out);
	while (i < n) {
		uint32_t coded = p->coded[frames[i]];

		if (__builtin_expect(coded != 0, 1)) {
			at = pb_list_put(at, coded);
			i++;
			continue;
		}
		TRY(next_location(p, frames, n, &i, &location));
		at = pb_raw_varint(at, (uint32_t)location);
	}
	pb_list_end(out, n, at);
	pb_end(out, mark);
	return ADD(&p->t->stacks, (struct otlp_range){0}, &p->stacks[id]);
}

enum err otlp_plan_stack(struct otlp_planner *p, uint32_t id, int32_t *ret)
{
	if (id && !p->stacks[id])
		TRY(p->encode ? encode_stack(p, id) : add_stack(p, id));
	*ret = p->stacks[id];
	return ERR_OK;
}

enum err otlp_plan_link(struct otlp_planner *p, uint32_t id, int32_t *ret)
{
	if (id && !p->links[id])
		TRY(ADD(&p->t->links, p->d->links.v[id], &p->links[id]));
	*ret = p->links[id];
	return ERR_OK;
}
