/*
 * Stacks, methods and classes of the pools, to ids of the dictionary.
 *
 * A Java method is named as in a stack trace, java.util.HashMap.put, and keeps its descriptor in
 * the system name. How the JVM ran it (interpreted, compiled, inlined) is left out: the same method
 * would fall apart into three, and an inlined Java method is a frame of its own like any other,
 * without an address it could share; so FRAME_INLINED is not set.
 *
 * async-profiler puts native and kernel code in the same stacks: as methods with a descriptor that
 * no Java method can have, whose class is the library, or empty.
 */
#include "format/jfr.h"

#define NATIVE_DESCRIPTOR "()L;"
#define KERNEL_DESCRIPTOR "(Lk;)L;"

/*
 * Names are put together from parts that many may share, so a small file could ask for more bytes
 * of names than there is memory: all texts count against one budget.
 */
static enum err spend(struct jfr_reader *r, size_t n)
{
	r->name_bytes += n;
	if (r->name_bytes <= r->name_budget)
		return ERR_OK;
	return fault_set(&r->out->fault, ERR_TOO_LARGE,
			 "the names in the JFR chunk at byte %llu add up to more than %llu bytes",
			 (unsigned long long)r->chunk->file_offset,
			 (unsigned long long)r->name_budget);
}

static enum err text_at(struct jfr_reader *r, uint64_t at, struct str *ret)
{
	struct jfr_cursor c = jfr_at(r->chunk, at);
	enum err e = jfr_string(r->chunk, &c, r->out->limits.max_string, &r->scratch, ret);

	if (e == ERR_OK)
		return spend(r, ret->n);
	if (e == ERR_CORRUPT || e == ERR_TOO_LARGE)
		return fault_set(&r->out->fault, e, "the JFR string at byte %llu is not valid: %s",
				 (unsigned long long)(r->chunk->file_offset + at), err_text(e));
	return e;
}

enum err jfr_text(struct jfr_reader *r, const struct jfr_value *v, struct str *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;

	*ret = STR("");
	if (v->kind == JFR_TEXT)
		return text_at(r, v->number, ret);
	if (v->kind != JFR_REF && v->kind != JFR_OBJECT)
		return ERR_OK;
	if (v->kind == JFR_REF && r->chunk->classes.v[v->class].kind == JFR_KIND_STRING) {
		entry = jfr_pool_find(r->chunk, JFR_KIND_STRING, v->number);
		return entry ? text_at(r, entry->at, ret) : ERR_OK;
	}
	if (!jfr_object(r->chunk, v, JFR_KIND_SYMBOL, slots, &entry) ||
	    slots[JFR_SYMBOL_STRING].kind != JFR_TEXT)
		return ERR_OK;
	return text_at(r, slots[JFR_SYMBOL_STRING].number, ret);
}

static void put_dotted(struct buf *out, struct str name)
{
	size_t begin = out->n;

	buf_str(out, name);
	for (size_t i = begin; i < out->n; i++)
		if (out->data[i] == '/')
			out->data[i] = '.';
}

/* "[[I" is int[][], "[Ljava/lang/String;" is java.lang.String[]. */
static void put_array(struct buf *out, struct str name)
{
	static const char *const primitives[26] = {
		['B' - 'A'] = "byte",  ['C' - 'A'] = "char",	['D' - 'A'] = "double",
		['F' - 'A'] = "float", ['I' - 'A'] = "int",	['J' - 'A'] = "long",
		['S' - 'A'] = "short", ['Z' - 'A'] = "boolean",
	};
	size_t dimensions = 0;
	struct str element;

	while (dimensions < name.n && name.p[dimensions] == '[')
		dimensions++;
	element = str_skip(name, dimensions);
	if (element.n == 1 && element.p[0] >= 'A' && element.p[0] <= 'Z' &&
	    primitives[element.p[0] - 'A']) {
		buf_text(out, primitives[element.p[0] - 'A']);
	} else if (element.n > 2 && element.p[0] == 'L' && element.p[element.n - 1] == ';') {
		put_dotted(out, str_n(element.p + 1, element.n - 2));
	} else {
		put_dotted(out, name);
		return;
	}
	while (dimensions--)
		buf_text(out, "[]");
}

enum err jfr_class_name(struct jfr_reader *r, const struct jfr_value *v, struct buf *out)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_value plain = *v;
	struct jfr_pool_entry *entry;
	struct str name;

	/* The memo of a class is its label: look at the fields all the same. */
	if (v->kind == JFR_REF && r->chunk->classes.v[v->class].kind == JFR_KIND_CLASS) {
		entry = jfr_pool_find(r->chunk, JFR_KIND_CLASS, v->number);
		if (!entry)
			return ERR_OK;
		plain.kind = JFR_OBJECT;
		plain.number = entry->at;
	}
	if (!jfr_object(r->chunk, &plain, JFR_KIND_CLASS, slots, &entry))
		return ERR_OK;
	TRY(jfr_text(r, &slots[JFR_CLASS_NAME], &name));
	if (name.n && name.p[0] == '[')
		put_array(out, name);
	else
		put_dotted(out, name);
	return buf_error(out);
}

static enum err make_native(struct jfr_reader *r, const struct jfr_value *slots,
			    struct jfr_method *ret)
{
	struct dict *d = r->out->dict;
	struct function f = {0};
	struct mapping m = {.flags = MAPPING_HAS_FUNCTIONS};
	struct str name;

	TRY(jfr_text(r, &slots[JFR_METHOD_NAME], &name));
	TRY(dict_string(d, name, &f.name));
	f.system_name = f.name;
	TRY(dict_function(d, &f, &ret->function));
	ret->native = true;
	if (!r->text.n)
		return ERR_OK;
	TRY(dict_string(d, buf_view(&r->text), &m.file));
	return dict_mapping(d, &m, &ret->mapping);
}

static enum err make_java(struct jfr_reader *r, const struct jfr_value *slots,
			  struct jfr_method *ret)
{
	struct dict *d = r->out->dict;
	struct function f = {0};
	struct str part;

	TRY(jfr_text(r, &slots[JFR_METHOD_NAME], &part));
	buf_byte(&r->text, '.');
	buf_str(&r->text, part);
	TRY(buf_error(&r->text));
	TRY(spend(r, r->text.n));
	if (!utf8_valid(buf_view(&r->text)))
		notes_add(&r->out->notes, "a name is not valid UTF-8; kept as it is");
	TRY(dict_string(d, buf_view(&r->text), &f.name));
	TRY(jfr_text(r, &slots[JFR_METHOD_DESCRIPTOR], &part));
	buf_str(&r->text, part);
	TRY(buf_error(&r->text));
	TRY(spend(r, r->text.n));
	TRY(dict_string(d, buf_view(&r->text), &f.system_name));
	return dict_function(d, &f, &ret->function);
}

static enum err make_method(struct jfr_reader *r, const struct jfr_value *slots,
			    struct jfr_method *ret)
{
	struct str descriptor;
	bool native;

	*ret = (struct jfr_method){0};
	TRY(jfr_text(r, &slots[JFR_METHOD_DESCRIPTOR], &descriptor));
	native = str_eq(descriptor, STR(NATIVE_DESCRIPTOR)) ||
		 str_eq(descriptor, STR(KERNEL_DESCRIPTOR));
	buf_clear(&r->text);
	TRY(jfr_class_name(r, &slots[JFR_METHOD_CLASS], &r->text));
	if (native || !r->text.n)
		return make_native(r, slots, ret);
	return make_java(r, slots, ret);
}

static enum err method_of(struct jfr_reader *r, const struct jfr_value *v, struct jfr_method *ret)
{
	struct jfr_value slots[JFR_MAX_SLOTS] = {0};
	struct jfr_pool_entry *entry;
	struct jfr_method method;

	*ret = (struct jfr_method){0};
	if (!jfr_object(r->chunk, v, JFR_KIND_METHOD, slots, &entry))
		return ERR_OK;
	if (entry && entry->memo != JFR_NO_MEMO) {
		*ret = r->methods.v[entry->memo];
		return ERR_OK;
	}
	TRY(make_method(r, slots, &method));
	if (entry) {
		TRY(vec_push(&r->methods, method));
		entry->memo = (uint32_t)r->methods.n - 1;
	}
	*ret = method;
	return ERR_OK;
}

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

	TRY(method_of(r, &slots[JFR_FRAME_METHOD], &method));
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

static enum err read_frames(struct jfr_reader *r, const struct jfr_value *array)
{
	const struct jfr_plan *plan = &r->chunk->plans[JFR_KIND_FRAME];
	struct jfr_cursor c = jfr_at(r->chunk, array->number);

	r->frames.n = 0;
	if (array->kind != JFR_ARRAY || plan->class != array->class || !plan->steps.n)
		return ERR_OK;
	if (array->count > r->out->limits.max_depth)
		return fault_set(&r->out->fault, ERR_TOO_DEEP,
				 "the JFR stack at byte %llu has %llu frames, more than %u",
				 (unsigned long long)(r->chunk->file_offset + array->number),
				 (unsigned long long)array->count, r->out->limits.max_depth);
	TRY(vec_reserve(&r->frames, array->count));
	for (uint64_t i = 0; i < array->count; i++) {
		struct jfr_value slots[JFR_FRAME_TYPE + 1] = {0};

		jfr_read_fields(r->chunk, &c, plan, slots);
		if (c.failed)
			return ERR_CORRUPT;
		TRY(frame_id(r, slots, &r->frames.v[r->frames.n]));
		r->frames.n++;
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
