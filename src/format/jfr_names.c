/*
 * Texts, classes and methods of the pools, to functions of the dictionary.
 *
 * A Java method is named as in a stack trace, java.util.HashMap.put, and keeps its descriptor in
 * the system name.
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

enum err jfr_method_of(struct jfr_reader *r, const struct jfr_value *v, struct jfr_method *ret)
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
