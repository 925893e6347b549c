/*
 * Compiles types to programs. Values are skipped far more often than read, and malicious types may
 * be recursive or grow exponentially; so every type is first flattened to a list of steps with a
 * limit, and types that cannot be flattened are not used.
 */
#include "format/jfr.h"

#define MAX_OPS	    (1u << 18) /* of all types of a chunk; a JDK's chunk needs 10,000 */
#define MAX_NESTING 32

uint32_t jfr_class_by_id(const struct jfr_chunk *k, uint64_t id)
{
	MAP_PROBE(&k->class_index, hash_mix(id, k->seed), i)
	{
		if (k->classes.v[i].id == id)
			return i;
	}
	return JFR_NO_CLASS;
}

static enum err add_op(struct jfr_chunk *k, struct jfr_op op)
{
	if (k->ops.n >= MAX_OPS)
		return ERR_TOO_LARGE;
	return vec_push(&k->ops, op);
}

static enum err add_copy(struct jfr_chunk *k, struct jfr_program p)
{
	if (p.n > MAX_OPS - k->ops.n)
		return ERR_TOO_LARGE;
	/* Room first: the steps to copy are in the same array, which may move. */
	TRY(vec_reserve(&k->ops, p.n));
	for (uint32_t i = 0; i < p.n; i++)
		k->ops.v[k->ops.n++] = k->ops.v[p.at + i];
	return ERR_OK;
}

static struct jfr_op integer_op(const struct jfr_chunk *k, uint32_t plain_bytes)
{
	if (k->header.compressed)
		return (struct jfr_op){JFR_OP_VARINT, 0};
	return (struct jfr_op){JFR_OP_FIXED, plain_bytes};
}

static enum err add_primitive(struct jfr_chunk *k, enum jfr_primitive p)
{
	switch (p) {
	case JFR_BOOLEAN:
	case JFR_BYTE:
		return add_op(k, (struct jfr_op){JFR_OP_FIXED, 1});
	case JFR_CHAR:
	case JFR_SHORT:
		return add_op(k, integer_op(k, 2));
	case JFR_INT:
		return add_op(k, integer_op(k, 4));
	case JFR_FLOAT:
		return add_op(k, (struct jfr_op){JFR_OP_FIXED, 4});
	case JFR_DOUBLE:
		return add_op(k, (struct jfr_op){JFR_OP_FIXED, 8});
	case JFR_STRING:
		return add_op(k, (struct jfr_op){JFR_OP_STRING, 0});
	default:
		return add_op(k, integer_op(k, 8));
	}
}

static enum err compile_class(struct jfr_chunk *k, uint32_t class, uint32_t nesting);

/* Adds the steps of one field; the types of structs in it must be compiled. */
static enum err add_field(struct jfr_chunk *k, struct jfr_field *f)
{
	struct jfr_class *class = &k->classes.v[f->class];
	size_t begin = k->ops.n;

	if (f->array)
		TRY(add_op(k, (struct jfr_op){JFR_OP_ARRAY, 0}));
	if (f->pooled)
		TRY(add_primitive(k, JFR_LONG));
	else if (class->primitive != JFR_STRUCT)
		TRY(add_primitive(k, class->primitive));
	else
		TRY(add_copy(k, class->skip));
	if (f->array)
		k->ops.v[begin].n = (uint32_t)(k->ops.n - begin - 1);
	f->skip = (struct jfr_program){(uint32_t)begin, (uint32_t)(k->ops.n - begin)};
	return ERR_OK;
}

/* Compiles what a class is made of; false when part of it cannot be. */
static enum err compile_parts(struct jfr_chunk *k, const struct jfr_class *class, uint32_t nesting,
			      bool *ret_whole)
{
	uint32_t at = class->field_at, end = at + class->field_n;

	*ret_whole = true;
	for (uint32_t i = at; i < end; i++) {
		struct jfr_field *f = &k->fields.v[i];

		f->class = jfr_class_by_id(k, f->type_id);
		if (f->class == JFR_NO_CLASS) {
			*ret_whole = false;
			return ERR_OK;
		}
		if (f->pooled)
			continue;
		TRY(compile_class(k, f->class, nesting + 1));
		if (k->classes.v[f->class].layout != JFR_LAYOUT_DONE)
			*ret_whole = false;
	}
	return ERR_OK;
}

static enum err compile_class(struct jfr_chunk *k, uint32_t index, uint32_t nesting)
{
	struct jfr_class *class = &k->classes.v[index];
	size_t begin;
	bool whole;

	if (class->layout == JFR_LAYOUT_OPEN || nesting > MAX_NESTING)
		class->layout = JFR_LAYOUT_BAD; /* a circle */
	if (class->layout != JFR_LAYOUT_NEW)
		return ERR_OK;
	class->layout = JFR_LAYOUT_OPEN;
	TRY(compile_parts(k, class, nesting, &whole));
	if (!whole || class->layout == JFR_LAYOUT_BAD) {
		class->layout = JFR_LAYOUT_BAD;
		return ERR_OK;
	}
	begin = k->ops.n;
	for (uint32_t i = 0; i < class->field_n; i++)
		TRY(add_field(k, &k->fields.v[class->field_at + i]));
	class->skip = (struct jfr_program){(uint32_t)begin, (uint32_t)(k->ops.n - begin)};
	class->layout = JFR_LAYOUT_DONE;
	return ERR_OK;
}

enum err jfr_compile(struct jfr_chunk *k, struct fault *fault)
{
	for (uint32_t i = 0; i < k->classes.n; i++) {
		enum err e = compile_class(k, i, 0);

		if (e == ERR_TOO_LARGE)
			return fault_set(
				fault, e,
				"type %.*s in the metadata at byte %llu is larger than "
				"any real one: its layout passes %u steps",
				(int)(k->classes.v[i].name.n < 100 ? k->classes.v[i].name.n : 100),
				k->classes.v[i].name.p,
				(unsigned long long)(k->file_offset + k->header.metadata_offset),
				MAX_OPS);
		TRY(e);
	}
	return ERR_OK;
}

static int slot_of(const char *const *names, struct str name)
{
	for (int i = 0; names[i]; i++) {
		struct str rest = str_of(names[i]), one;

		while (str_split(&rest, ' ', &one))
			if (str_eq(one, name))
				return i;
	}
	return -1;
}

enum err jfr_plan_make(struct jfr_chunk *k, uint32_t class, const char *const *names,
		       struct jfr_plan *plan)
{
	plan->class = JFR_NO_CLASS;
	plan->steps.n = plan->wanted = 0;
	if (class == JFR_NO_CLASS || k->classes.v[class].layout != JFR_LAYOUT_DONE)
		return ERR_OK;
	for (uint32_t i = 0; i < k->classes.v[class].field_n; i++) {
		struct jfr_plan_step step = {.field = k->classes.v[class].field_at + i};

		step.slot = slot_of(names, k->fields.v[step.field].name);
		TRY(vec_push(&plan->steps, step));
		if (step.slot >= 0)
			plan->wanted = plan->steps.n;
	}
	plan->class = class;
	return ERR_OK;
}
