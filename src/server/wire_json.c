#include "base/base64.h"
#include "base/jsonout.h"
#include "server/wire_internal.h"

/* protobuf's JSON takes a field under its own name too: label_selector is labelSelector. */
static bool name_matches(const char *name, struct str key)
{
	size_t k = 0;

	for (; *name; name++, k++) {
		char c = k < key.n ? key.p[k] : 0;

		if (c == '_' && k + 1 < key.n) {
			c = key.p[++k];
			if (c >= 'a' && c <= 'z')
				c = (char)(c - 32);
		}
		if (c != *name)
			return false;
	}
	return k == key.n;
}

static const struct field *find_field(const struct message *m, struct str key)
{
	for (const struct field *f = m->fields; f->number; f++)
		if (str_eq(str_of(f->name), key) || name_matches(f->name, key))
			return f;
	return NULL;
}

static void read_int(struct json *j, int64_t *ret)
{
	struct str text;

	if (json_peek(j) != JSON_STRING)
		(void)json_i64(j, ret);
	else if (json_string(j, &text) && str_to_i64(text, ret) != ERR_OK)
		(void)json_fail(j, ERR_CORRUPT, "a whole number is expected");
}

static void read_enum(struct json *j, const struct field *f, int64_t *ret)
{
	struct str text;

	if (json_peek(j) != JSON_STRING) {
		(void)json_i64(j, ret);
		return;
	}
	if (!json_string(j, &text))
		return;
	for (int64_t i = 0; f->names && f->names[i]; i++)
		if (str_eq(str_of(f->names[i]), text)) {
			*ret = i;
			return;
		}
	if (str_to_i64(text, ret) != ERR_OK)
		(void)json_fail(j, ERR_CORRUPT, "\"%.*s\" is no value of %s",
				(int)(text.n < 60 ? text.n : 60), text.p, f->name);
}

static void read_bytes(struct json *j, struct arena *arena, struct str *ret)
{
	struct str text = {0};
	uint8_t *out;

	if (!json_string(j, &text) || !text.n)
		return;
	out = arena_alloc(arena, text.n);
	if (!out)
		(void)json_fail(j, ERR_NO_MEMORY, "out of memory");
	else if (!base64_decode(text, out, &ret->n))
		(void)json_fail(j, ERR_CORRUPT, "base64 is expected");
	else
		ret->p = (const char *)out;
}

static void read_object(const struct message *m, struct json *j, struct arena *arena, void *ret);

static void read_value(const struct field *f, struct json *j, struct arena *arena, void *at)
{
	switch (f->kind) {
	case FIELD_TEXT:
		(void)json_string_keep(j, arena, at);
		return;
	case FIELD_BYTES:
		read_bytes(j, arena, at);
		return;
	case FIELD_INT:
	case FIELD_INT32:
		read_int(j, at);
		return;
	case FIELD_ENUM:
		read_enum(j, f, at);
		return;
	case FIELD_DOUBLE:
		(void)json_double(j, at);
		return;
	case FIELD_BOOL:
		(void)json_bool(j, at);
		return;
	case FIELD_MESSAGE:
		read_object(f->message, j, arena, at);
		return;
	case FIELD_READY:
		json_skip(j);
		return;
	}
}

static void read_list(const struct field *f, struct json *j, struct arena *arena, struct list *list)
{
	if (!json_array(j))
		return;
	while (json_item(j)) {
		void *at;
		enum err error = list_push(list, field_size(f), arena, &at);

		if (error)
			(void)json_fail(j, error,
					error == ERR_TOO_LARGE ? "too many items"
							       : "out of memory");
		else
			read_value(f, j, arena, at);
	}
}

static void read_field(const struct field *f, struct json *j, struct arena *arena, void *at)
{
	if (json_peek(j) == JSON_NULL) {
		json_skip(j); /* missing, whatever its kind */
	} else if (f->repeated) {
		read_list(f, j, arena, at);
	} else if (f->kind == FIELD_MESSAGE && json_peek(j) == JSON_OBJECT) {
		void *nested = arena_zalloc(arena, 1, f->message->size);

		*(void **)at = nested;
		if (!nested)
			(void)json_fail(j, ERR_NO_MEMORY, "out of memory");
		else
			read_object(f->message, j, arena, nested);
	} else if (f->kind == FIELD_MESSAGE) {
		(void)json_fail(j, ERR_CORRUPT, "an object is expected");
	} else {
		read_value(f, j, arena, at);
	}
}

static void read_object(const struct message *m, struct json *j, struct arena *arena, void *ret)
{
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		const struct field *f = find_field(m, key);

		if (f)
			read_field(f, j, arena, (char *)ret + f->at);
		else
			json_skip(j);
	}
}

enum err message_read_json(const struct message *m, struct str text, struct arena *arena, void *ret,
			   struct fault *fault)
{
	struct reading limits = {.limits = LIMITS_DEFAULT};
	struct json j;
	enum err error;

	/* As Connect has it: nothing is a message in protobuf only. */
	if (!str_trim(text).n)
		return fault_set(fault, ERR_CORRUPT, "%s: nothing is no JSON; say {}", m->name);
	/* A profile inside is one long text. */
	limits.limits.max_string = UINT32_MAX;
	json_init(&j, text, m->name, MESSAGE_MAX_NESTING, &limits);
	if (json_peek(&j) != JSON_OBJECT)
		(void)json_fail(&j, ERR_CORRUPT, "an object is expected");
	read_object(m, &j, arena, ret);
	error = json_finish(&j);
	json_release(&j);
	notes_release(&limits.notes);
	if (error != ERR_OK)
		return fault_set(fault, error, "%s", limits.fault.text);
	return ERR_OK;
}

static void write_bytes(struct jsonout *o, struct str bytes)
{
	struct buf text = BUF_INIT(SIZE_MAX);

	base64_put(&text, bytes, true);
	jsonout_str(o, buf_view(&text));
	if (text.error)
		o->b->error = text.error;
	buf_release(&text);
}

static void write_object(const struct message *m, const void *value, struct jsonout *o);

static void write_value(const struct field *f, const void *at, struct jsonout *o)
{
	switch (f->kind) {
	case FIELD_TEXT:
		jsonout_str(o, *(const struct str *)at);
		return;
	case FIELD_BYTES:
		write_bytes(o, *(const struct str *)at);
		return;
	case FIELD_INT:
		jsonout_i64_text(o, *(const int64_t *)at);
		return;
	case FIELD_INT32:
	case FIELD_ENUM:
		jsonout_i64(o, *(const int64_t *)at);
		return;
	case FIELD_DOUBLE:
		jsonout_double(o, *(const double *)at);
		return;
	case FIELD_BOOL:
		jsonout_bool(o, *(const bool *)at);
		return;
	case FIELD_MESSAGE:
		write_object(f->message, at, o);
		return;
	case FIELD_READY:
		jsonout_raw(o, *(const struct str *)at);
		return;
	}
}

static void write_list(const struct field *f, const struct list *list, struct jsonout *o)
{
	jsonout_array(o);
	for (size_t i = 0; i < list->n; i++)
		write_value(f, (const char *)list->v + i * field_size(f), o);
	jsonout_end_array(o);
}

static void write_object(const struct message *m, const void *value, struct jsonout *o)
{
	jsonout_object(o);
	for (const struct field *f = m->fields; f->number; f++) {
		const void *at = (const char *)value + f->at;

		if (f->repeated ? !((const struct list *)at)->n : field_is_default(f, at))
			continue;
		jsonout_key(o, str_of(f->name));
		if (f->repeated)
			write_list(f, at, o);
		else
			write_value(f, f->kind == FIELD_MESSAGE ? *(void *const *)at : at, o);
	}
	jsonout_end_object(o);
}

void message_write_json(const struct message *m, const void *value, struct buf *out)
{
	struct jsonout o = jsonout_of(out, false);

	write_object(m, value, &o);
}
