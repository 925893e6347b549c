/*
 * Stacks of the pools, to stacks of the dictionary. Both have the leaf first.
 *
 * How the JVM ran a method (interpreted, compiled, inlined) is left out: the same method would fall
 * apart into three, and an inlined Java method is a frame of its own like any other, without an
 * address it could share with its caller; so FRAME_INLINED is not set.
 */
#include "format/jfr.h"

static enum err frame_type_is_kernel(struct jfr_reader *r, const struct jfr_value *v, bool *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;
	struct str name;

	*ret = false;
	if (!jfr_object(r->chunk, v, JFR_KIND_FRAME_TYPE, slots, &entry))
		return ERR_OK;
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret = entry->memo;
		return ERR_OK;
	}
	TRY(jfr_text(r, &slots[slots[JFR_NAME_NAME].kind ? JFR_NAME_NAME : JFR_NAME_DESCRIPTION],
		     &name));
	*ret = str_eq(name, STR("Kernel"));
	if (entry)
		entry->memo = *ret;
	return ERR_OK;
}

static enum err frame_id(struct jfr_reader *r, const struct jfr_value *slots, uint32_t *ret)
{
	struct frame frame = {.kind = KIND_JVM, .flags = FRAME_HAS_LINE};
	struct jfr_method method;
	bool kernel = false;

	TRY(jfr_method_of(r, &slots[JFR_FRAME_METHOD], &method));
	if (method.native) {
		TRY(frame_type_is_kernel(r, &slots[JFR_FRAME_TYPE], &kernel));
		frame.kind = kernel ? KIND_KERNEL : KIND_NATIVE;
	}
	frame.function = method.function;
	frame.mapping = method.mapping;
	if (slots[JFR_FRAME_LINE].kind == JFR_NUMBER && (int64_t)slots[JFR_FRAME_LINE].number > 0)
		frame.line = (int64_t)slots[JFR_FRAME_LINE].number;
	if (!frame.function)
		TRY(dict_named_frame(r->out->dict, STR("[unknown Java method]"), ret));
	else
		TRY(dict_frame(r->out->dict, &frame, ret));
	return ERR_OK;
}

/* The keys of a frame as a chunk has them. */
struct jfr_frame_keys {
	uint64_t v[JFR_FRAME_TYPE + 1];
};

/* Whether every field of a frame is one integer, and method and type are keys: so it is in all
 * recordings, and such frames are read without a value for each field. */
static bool frames_are_integers(const struct jfr_chunk *k, const struct jfr_plan *plan)
{
	unsigned keys = 0;

	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct jfr_field *f = &k->fields.v[plan->steps.v[i].field];
		int slot = plan->steps.v[i].slot;

		if (f->array || f->skip.n != 1 || k->ops.v[f->skip.at].code != JFR_OP_VARINT)
			return false;
		if (slot == JFR_FRAME_METHOD || slot == JFR_FRAME_TYPE)
			keys += f->pooled;
	}
	return keys == 2;
}

static void read_keys(struct jfr_cursor *c, const struct jfr_plan *plan, struct jfr_frame_keys *ret)
{
	*ret = (struct jfr_frame_keys){0};
	for (size_t i = 0; i < plan->steps.n; i++) {
		uint64_t v = jfr_varint(c);

		if (plan->steps.v[i].slot >= 0)
			ret->v[plan->steps.v[i].slot] = v;
	}
}

/* The frame of these keys; `at` is where it stands in the chunk. */
static enum err known_frame_id(struct jfr_reader *r, const struct jfr_frame_keys *keys, size_t at,
			       uint32_t *ret)
{
	const uint64_t *v = keys->v;
	uint64_t slot = hash_mix(v[JFR_FRAME_METHOD], v[JFR_FRAME_LINE]) & (JFR_KNOWN_FRAMES - 1);
	struct jfr_known_frame *known = &r->known[slot];
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_cursor c;

	if (known->frame && known->method == v[JFR_FRAME_METHOD] &&
	    known->type == v[JFR_FRAME_TYPE] && known->line == (uint32_t)v[JFR_FRAME_LINE]) {
		*ret = known->frame;
		return ERR_OK;
	}
	c = jfr_at(r->chunk, at);
	jfr_read_fields(r->chunk, &c, &r->chunk->plans[JFR_KIND_FRAME], slots);
	TRY(frame_id(r, slots, ret));
	*known = (struct jfr_known_frame){v[JFR_FRAME_METHOD], v[JFR_FRAME_TYPE],
					  (uint32_t)v[JFR_FRAME_LINE], *ret};
	return ERR_OK;
}

static enum err read_frame(struct jfr_reader *r, struct jfr_cursor *c, bool integers, uint32_t *ret)
{
	const struct jfr_plan *plan = &r->chunk->plans[JFR_KIND_FRAME];
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_frame_keys keys;
	size_t at = c->at;

	if (integers)
		read_keys(c, plan, &keys);
	else
		jfr_read_fields(r->chunk, c, plan, slots);
	if (c->failed)
		return ERR_CORRUPT;
	return integers ? known_frame_id(r, &keys, at, ret) : frame_id(r, slots, ret);
}

static enum err read_frames(struct jfr_reader *r, const struct jfr_value *array)
{
	const struct jfr_plan *plan = &r->chunk->plans[JFR_KIND_FRAME];
	struct jfr_cursor c = jfr_at(r->chunk, array->number);
	bool integers;

	r->frames.n = 0;
	if (array->kind != JFR_ARRAY || plan->class != array->class || !plan->steps.n)
		return ERR_OK;
	if (array->count > r->out->limits.max_depth)
		return fault_set(&r->out->fault, ERR_TOO_DEEP,
				 "the JFR stack at byte %llu has %u frames, more than %u",
				 (unsigned long long)(r->chunk->file_offset + array->number),
				 array->count, r->out->limits.max_depth);
	TRY(vec_reserve(&r->frames, array->count));
	integers = frames_are_integers(r->chunk, plan);
	for (uint32_t i = 0; i < array->count; i++) {
		size_t before = c.at;

		TRY(read_frame(r, &c, integers, &r->frames.v[r->frames.n]));
		r->frames.n++;
		/* Frames that take no bytes would be work a small file gets for nothing. */
		if (c.at == before)
			return fault_set(&r->out->fault, ERR_CORRUPT,
					 "the JFR stack at byte %llu has frames without content",
					 (unsigned long long)(r->chunk->file_offset + before));
	}
	return ERR_OK;
}

enum err jfr_stack_id(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;

	*ret = 0;
	if (!jfr_object(r->chunk, v, JFR_KIND_STACK, slots, &entry)) {
		r->missing_stacks += v->kind == JFR_REF && v->number != 0;
		return ERR_OK;
	}
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret = entry->memo;
		return ERR_OK;
	}
	TRY(read_frames(r, &slots[JFR_STACK_FRAMES]));
	TRY(dict_stack(r->out->dict, r->frames.v, (uint32_t)r->frames.n, ret));
	if (entry)
		entry->memo = *ret;
	if (slots[JFR_STACK_TRUNCATED].kind == JFR_NUMBER && slots[JFR_STACK_TRUNCATED].number) {
		r->cut_stacks++;
		if (r->frames.n > r->cut_depth)
			r->cut_depth = (uint32_t)r->frames.n;
	}
	return ERR_OK;
}
