/*
 * AnyValue and KeyValue: inline strings and references into string_table look the same afterwards.
 */
#include "format/otlp_decode.h"

/* The string of `message` that field `what` refers to. */
static enum err resolve(struct otlp_decoder *d, const struct pb *c, const char *what,
			struct str *ret)
{
	WANT(d, c, PB_VARINT, what);
	if (otlp_string_at(d->t, (int64_t)c->value, ret) == ERR_OK)
		return ERR_OK;
	return fault_set(&d->out->fault, ERR_BAD_INDEX,
			 "%s at byte %zu is %lld, but string_table has %zu entries", what,
			 pb_offset(c), (long long)c->value, d->t->strings.n);
}

static enum err check_string(struct otlp_decoder *d, const struct pb *c, const char *what)
{
	WANT(d, c, PB_BYTES, what);
	if (c->bytes.n > d->out->limits.max_string)
		return fault_set(&d->out->fault, ERR_TOO_LARGE,
				 "%s at byte %zu has %zu bytes, more than %u", what, pb_offset(c),
				 c->bytes.n, d->out->limits.max_string);
	return ERR_OK;
}

static enum err count_fields(struct otlp_decoder *d, struct pb message, uint32_t field,
			     const char *what, uint32_t *ret)
{
	uint32_t n = 0;

	while (pb_next(&message)) {
		if (message.field != field)
			continue;
		WANT(d, &message, PB_BYTES, what);
		n++;
	}
	if (message.failed)
		return otlp_malformed(d, &message, what);
	*ret = n;
	return ERR_OK;
}

static enum err read_array(struct otlp_decoder *d, const struct pb *at, unsigned depth,
			   struct otlp_any *ret)
{
	struct pb c = pb_sub(at);
	struct otlp_any value = {.type = ANY_ARRAY};
	uint32_t i = 0, n;

	TRY(count_fields(d, c, VALUES_VALUES, "ArrayValue.values", &n));
	value.items = arena_zalloc(&d->t->arena, n ? n : 1, sizeof(*value.items));
	if (!value.items)
		return ERR_NO_MEMORY;
	value.n = n;
	while (pb_next(&c))
		if (c.field == VALUES_VALUES)
			TRY(otlp_read_any(d, &c, depth + 1, &value.items[i++]));
	*ret = value;
	return ERR_OK;
}

static enum err read_list(struct otlp_decoder *d, const struct pb *at, unsigned depth,
			  struct otlp_any *ret)
{
	struct otlp_any value = {.type = ANY_LIST};

	TRY(otlp_read_pairs(d, pb_sub(at), VALUES_VALUES, depth + 1, &value.pairs, &value.n));
	*ret = value;
	return ERR_OK;
}

static enum err read_member(struct otlp_decoder *d, const struct pb *c, unsigned depth,
			    struct otlp_any *ret)
{
	uint64_t bits = c->value;

	switch (c->field) {
	case ANY_FIELD_STRING:
		TRY(check_string(d, c, "AnyValue.string_value"));
		*ret = (struct otlp_any){.type = ANY_STRING, .text = c->bytes};
		return ERR_OK;
	case ANY_FIELD_BOOL:
		WANT(d, c, PB_VARINT, "AnyValue.bool_value");
		*ret = (struct otlp_any){.type = ANY_BOOL, .number = c->value != 0};
		return ERR_OK;
	case ANY_FIELD_INT:
		WANT(d, c, PB_VARINT, "AnyValue.int_value");
		*ret = (struct otlp_any){.type = ANY_INT, .number = (int64_t)c->value};
		return ERR_OK;
	case ANY_FIELD_DOUBLE:
		WANT(d, c, PB_FIXED64, "AnyValue.double_value");
		*ret = (struct otlp_any){.type = ANY_DOUBLE};
		memcpy(&ret->real, &bits, sizeof(bits));
		return ERR_OK;
	case ANY_FIELD_ARRAY:
		WANT(d, c, PB_BYTES, "AnyValue.array_value");
		return read_array(d, c, depth, ret);
	case ANY_FIELD_LIST:
		WANT(d, c, PB_BYTES, "AnyValue.kvlist_value");
		return read_list(d, c, depth, ret);
	case ANY_FIELD_BYTES:
		TRY(check_string(d, c, "AnyValue.bytes_value"));
		*ret = (struct otlp_any){.type = ANY_BYTES, .text = c->bytes};
		return ERR_OK;
	case ANY_FIELD_STRINDEX:
		*ret = (struct otlp_any){.type = ANY_STRING};
		return resolve(d, c, "AnyValue.string_value_strindex", &ret->text);
	default:
		return ERR_OK;
	}
}

enum err otlp_read_any(struct otlp_decoder *d, const struct pb *at, unsigned depth,
		       struct otlp_any *ret)
{
	struct pb c = pb_sub(at);

	*ret = (struct otlp_any){0};
	if (depth > d->out->limits.max_nesting)
		return fault_set(&d->out->fault, ERR_TOO_DEEP,
				 "an AnyValue at byte %zu is nested deeper than %u levels",
				 pb_offset(at), d->out->limits.max_nesting);
	/* A oneof: when a sender writes several members the last one counts. */
	while (pb_next(&c))
		TRY(read_member(d, &c, depth, ret));
	return c.failed ? otlp_malformed(d, &c, "AnyValue") : ERR_OK;
}

static enum err read_pair(struct otlp_decoder *d, const struct pb *at, unsigned depth,
			  struct otlp_pair *ret)
{
	struct pb c = pb_sub(at);
	struct str referred;

	while (pb_next(&c)) {
		switch (c.field) {
		case PAIR_KEY:
			TRY(check_string(d, &c, "KeyValue.key"));
			if (c.bytes.n)
				ret->key = c.bytes;
			break;
		case PAIR_VALUE:
			WANT(d, &c, PB_BYTES, "KeyValue.value");
			TRY(otlp_read_any(d, &c, depth, &ret->value));
			break;
		case PAIR_KEY_STRINDEX:
			TRY(resolve(d, &c, "KeyValue.key_strindex", &referred));
			if (referred.n)
				ret->key = referred;
			break;
		}
	}
	return c.failed ? otlp_malformed(d, &c, "KeyValue") : ERR_OK;
}

enum err otlp_read_pairs(struct otlp_decoder *d, struct pb message, uint32_t field, unsigned depth,
			 struct otlp_pair **pairs, uint32_t *n)
{
	struct pb c = message;
	struct otlp_pair *list;
	uint32_t more, i = *n;

	TRY(count_fields(d, message, field, "attributes", &more));
	if (!more)
		return ERR_OK;
	/* A message may come in pieces, each with some: what is there already moves along. */
	list = arena_zalloc(&d->t->arena, (size_t)*n + more, sizeof(*list));
	if (!list)
		return ERR_NO_MEMORY;
	if (*n)
		memcpy(list, *pairs, *n * sizeof(*list));
	while (pb_next(&c))
		if (c.field == field)
			TRY(read_pair(d, &c, depth, &list[i++]));
	*pairs = list;
	*n = i;
	return ERR_OK;
}
