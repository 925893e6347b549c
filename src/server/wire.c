#include "server/wire_internal.h"

size_t field_size(const struct field *f)
{
	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_BYTES:
	case FIELD_READY:
		return sizeof(struct str);
	case FIELD_INT:
	case FIELD_INT32:
	case FIELD_ENUM:
		return sizeof(int64_t);
	case FIELD_DOUBLE:
		return sizeof(double);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_MESSAGE:
		return f->message->size;
	}
	return 0;
}

/* Doubles its memory at 1, 2, 4 … items; the old copies in the arena take at most as much again. */
enum err list_push(struct list *l, size_t size, struct arena *arena, void **ret)
{
	if (l->n >= MESSAGE_MAX_ITEMS)
		return ERR_TOO_LARGE;
	if (!(l->n & (l->n - 1))) {
		char *more = arena_zalloc(arena, l->n ? 2 * l->n : 1, size);

		if (!more)
			return ERR_NO_MEMORY;
		if (l->n)
			memcpy(more, l->v, l->n * size);
		l->v = more;
	}
	*ret = (char *)l->v + size * l->n++;
	return ERR_OK;
}

static const struct field *find_field(const struct message *m, uint32_t number)
{
	for (const struct field *f = m->fields; f->number; f++)
		if (f->number == number)
			return f;
	return NULL;
}

static enum err malformed(const struct message *m, const struct pb *c, const char *what,
			  struct fault *fault)
{
	return fault_set(fault, ERR_CORRUPT, "%s: %s at byte %zu", m->name, what, pb_offset(c));
}

static enum pb_type wire_type(const struct field *f)
{
	switch (f->kind) {
	case FIELD_INT:
	case FIELD_INT32:
	case FIELD_ENUM:
	case FIELD_BOOL:
		return PB_VARINT;
	case FIELD_DOUBLE:
		return PB_FIXED64;
	default:
		return PB_BYTES;
	}
}

static void store_scalar(const struct field *f, uint64_t value, void *at)
{
	if (f->kind == FIELD_DOUBLE)
		memcpy(at, &value, sizeof(double));
	else if (f->kind == FIELD_BOOL)
		*(bool *)at = value != 0;
	else
		*(int64_t *)at = (int64_t)value;
}

static enum err read_message(const struct message *m, struct pb c, struct arena *arena, int depth,
			     void *ret, struct fault *fault);

static enum err read_nested(const struct field *f, const struct pb *c, struct arena *arena,
			    int depth, void *at, struct fault *fault)
{
	void *nested = at;

	if (!f->repeated) {
		nested = arena_zalloc(arena, 1, f->message->size);
		if (!nested)
			return ERR_NO_MEMORY;
		*(void **)at = nested;
	}
	return read_message(f->message, pb_sub(c), arena, depth + 1, nested, fault);
}

static enum err push_item(const struct message *m, const struct field *f, struct list *list,
			  struct arena *arena, void **ret, struct fault *fault)
{
	enum err error = list_push(list, field_size(f), arena, ret);

	if (error == ERR_TOO_LARGE)
		return fault_set(fault, error, "%s: too many items of %s", m->name, f->name);
	return error;
}

/* A run of packed numbers, or one of them. */
static enum err read_numbers(const struct message *m, const struct field *f, const struct pb *c,
			     struct arena *arena, struct list *list, struct fault *fault)
{
	struct pb_packed run = f->kind == FIELD_DOUBLE ? pb_packed_fixed64(c) : pb_packed_of(c);
	uint64_t value;

	while (pb_packed_next(&run, &value)) {
		void *at;

		TRY(push_item(m, f, list, arena, &at, fault));
		store_scalar(f, value, at);
	}
	return run.failed ? malformed(m, c, "a cut list of numbers", fault) : ERR_OK;
}

static enum err read_field(const struct message *m, const struct field *f, const struct pb *c,
			   struct arena *arena, int depth, void *at, struct fault *fault)
{
	bool number = wire_type(f) != PB_BYTES;

	if (f->repeated && number)
		return read_numbers(m, f, c, arena, at, fault);
	if (c->type != wire_type(f))
		return malformed(m, c, "a field of the wrong wire type", fault);
	if (f->repeated)
		TRY(push_item(m, f, at, arena, &at, fault));
	if (f->kind == FIELD_MESSAGE)
		return read_nested(f, c, arena, depth, at, fault);
	if (number)
		store_scalar(f, c->value, at);
	else
		*(struct str *)at = c->bytes;
	return ERR_OK;
}

static enum err read_message(const struct message *m, struct pb c, struct arena *arena, int depth,
			     void *ret, struct fault *fault)
{
	if (depth > MESSAGE_MAX_NESTING)
		return fault_set(fault, ERR_TOO_DEEP, "%s: nested too deeply", m->name);
	while (pb_next(&c)) {
		const struct field *f = find_field(m, c.field);

		if (f)
			TRY(read_field(m, f, &c, arena, depth, (char *)ret + f->at, fault));
	}
	return c.failed ? malformed(m, &c, "cut or malformed", fault) : ERR_OK;
}

enum err message_read(const struct message *m, struct str bytes, bool json, struct arena *arena,
		      void *ret, struct fault *fault)
{
	memset(ret, 0, m->size);
	if (json)
		return message_read_json(m, bytes, arena, ret, fault);
	return read_message(m, pb_of(bytes), arena, 0, ret, fault);
}

bool field_is_default(const struct field *f, const void *at)
{
	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_BYTES:
	case FIELD_READY:
		return !((const struct str *)at)->n;
	case FIELD_INT:
	case FIELD_INT32:
	case FIELD_ENUM:
		return !*(const int64_t *)at;
	case FIELD_DOUBLE:
		return *(const double *)at == 0;
	case FIELD_BOOL:
		return !*(const bool *)at;
	case FIELD_MESSAGE:
		return !*(void *const *)at;
	}
	return true;
}

static void write_message(const struct message *m, const void *value, struct buf *out);

static uint64_t scalar_bits(const struct field *f, const void *at)
{
	uint64_t bits;

	if (f->kind == FIELD_BOOL)
		return *(const bool *)at;
	memcpy(&bits, at, sizeof(bits));
	return bits;
}

static void write_packed(const struct field *f, const struct list *list, struct buf *out)
{
	size_t mark = pb_begin(out, f->number);

	for (size_t i = 0; i < list->n; i++) {
		uint64_t bits = scalar_bits(f, (const char *)list->v + i * field_size(f));

		if (f->kind == FIELD_DOUBLE)
			buf_append(out, &bits, sizeof(bits));
		else
			pb_put_varint(out, bits);
	}
	pb_end(out, mark);
}

/* `at` is the value itself, of a nested message the struct. */
static void write_value(const struct field *f, const void *at, struct buf *out)
{
	size_t mark;

	switch (wire_type(f)) {
	case PB_VARINT:
		pb_put_uint(out, f->number, scalar_bits(f, at));
		return;
	case PB_FIXED64:
		pb_put_fixed64(out, f->number, scalar_bits(f, at));
		return;
	default:
		break;
	}
	if (f->kind != FIELD_MESSAGE) {
		pb_put_bytes(out, f->number, *(const struct str *)at);
		return;
	}
	mark = pb_begin(out, f->number);
	write_message(f->message, at, out);
	pb_end(out, mark);
}

static void write_list(const struct field *f, const struct list *list, struct buf *out)
{
	if (!list->n)
		return;
	if (wire_type(f) != PB_BYTES) {
		write_packed(f, list, out);
		return;
	}
	for (size_t i = 0; i < list->n; i++)
		write_value(f, (const char *)list->v + i * field_size(f), out);
}

static void write_message(const struct message *m, const void *value, struct buf *out)
{
	for (const struct field *f = m->fields; f->number; f++) {
		const void *at = (const char *)value + f->at;

		if (f->repeated)
			write_list(f, at, out);
		else if (!field_is_default(f, at))
			write_value(f, f->kind == FIELD_MESSAGE ? *(void *const *)at : at, out);
	}
}

void message_write(const struct message *m, const void *value, bool json, struct buf *out)
{
	if (json)
		message_write_json(m, value, out);
	else
		write_message(m, value, out);
}
