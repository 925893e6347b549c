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

/* Of how many compressed integers a frame is made, as in all recordings; 0: of something else. */
static unsigned integers_of_frame(const struct jfr_chunk *k, const struct jfr_plan *plan)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct jfr_field *f = &k->fields.v[plan->steps.v[i].field];

		if (f->array || f->skip.n != 1 || k->ops.v[f->skip.at].code != JFR_OP_VARINT)
			return 0;
	}
	return plan->steps.n <= 8 ? (unsigned)plan->steps.n : 0;
}

/* The bit position of the n-th end, from the lowest; 0: there are fewer. */
static unsigned nth_end(uint64_t ends, unsigned n)
{
	while (--n)
		ends &= ends - 1;
	return ends ? (unsigned)__builtin_ctzll(ends) + 1 : 0;
}

static uint64_t low_bits(uint64_t word, unsigned bits)
{
	return word & UINT64_MAX >> (64 - bits);
}

/*
 * The bytes of the frame at the cursor as numbers, when it is `integers` compressed ones: the same
 * frame is nearly always written the same way, and no other is. Returns how many bytes it has,
 * without a look at what the integers are; 0: more than two words, or the chunk ends here.
 */
static unsigned frame_bytes(const struct jfr_cursor *c, unsigned integers, uint64_t ret[2])
{
	uint64_t first, second;
	unsigned bits, found;

	if (!integers || c->end - c->at < 2 * sizeof(*ret))
		return 0;
	first = ~jfr_word(c, 0) & JFR_CONTINUES;
	bits = nth_end(first, integers);
	ret[1] = 0;
	if (bits) {
		ret[0] = low_bits(jfr_word(c, 0), bits);
		return bits / 8;
	}
	found = jfr_count_ends(first);
	second = ~jfr_word(c, 8) & JFR_CONTINUES;
	/* The last byte of an integer of nine is not marked. */
	if (!first || !second || __builtin_clzll(first) + __builtin_ctzll(second) >= 64)
		return 0;
	bits = nth_end(second, integers - found);
	if (!bits)
		return 0;
	ret[0] = jfr_word(c, 0);
	ret[1] = low_bits(jfr_word(c, 8), bits);
	return 8 + bits / 8;
}

static struct jfr_known_frame *known_place(const struct jfr_reader *r, const uint64_t bytes[2])
{
	uint64_t hash = hash_mix(bytes[0] ^ bytes[1] * HASH_K1, r->chunk->seed);

	return &r->known[hash & (JFR_KNOWN_FRAMES - 1)];
}

static enum err read_frame(struct jfr_reader *r, struct jfr_cursor *c, unsigned integers,
			   uint32_t *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_known_frame *known = NULL;
	uint64_t bytes[2];
	unsigned n = frame_bytes(c, integers, bytes);

	if (n) {
		known = known_place(r, bytes);
		if (known->frame && known->bytes[0] == bytes[0] && known->bytes[1] == bytes[1]) {
			c->at += n;
			*ret = known->frame;
			return ERR_OK;
		}
	}
	jfr_read_fields(r->chunk, c, &r->chunk->plans[JFR_KIND_FRAME], slots);
	if (c->failed)
		return ERR_CORRUPT;
	TRY(frame_id(r, slots, ret));
	if (known)
		*known = (struct jfr_known_frame){{bytes[0], bytes[1]}, *ret};
	return ERR_OK;
}

static enum err read_frames(struct jfr_reader *r, const struct jfr_value *array)
{
	const struct jfr_plan *plan = &r->chunk->plans[JFR_KIND_FRAME];
	struct jfr_cursor c = jfr_at(r->chunk, array->number);
	unsigned integers;

	r->frames.n = 0;
	if (array->kind != JFR_ARRAY || plan->class != array->class || !plan->steps.n)
		return ERR_OK;
	if (array->count > r->out->limits.max_depth)
		return fault_set(&r->out->fault, ERR_TOO_DEEP,
				 "the JFR stack at byte %llu has %u frames, more than %u",
				 (unsigned long long)(r->chunk->file_offset + array->number),
				 array->count, r->out->limits.max_depth);
	TRY(vec_reserve(&r->frames, array->count));
	integers = integers_of_frame(r->chunk, plan);
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
