/*
 * JSON text of a label back into a value: arrays and objects, as otlp_any_json wrote them.
 */
#include "format/json.h"
#include "format/otlp_any.h"

#define MAX_NESTING 128

static void read_any(struct json *j, struct arena *arena, struct otlp_any *ret);

static void no_memory(struct json *j)
{
	if (!j->error)
		(void)json_fail(j, ERR_NO_MEMORY, "out of memory");
}

/* Moves what was collected into the arena. */
static void *keep(struct json *j, struct arena *arena, const void *items, size_t n, size_t size)
{
	void *copy = arena_zalloc(arena, n ? n : 1, size);

	if (!copy)
		no_memory(j);
	else if (n)
		memcpy(copy, items, n * size);
	return copy;
}

static void read_array(struct json *j, struct arena *arena, struct otlp_any *ret)
{
	VEC(struct otlp_any) items = {0};

	if (json_array(j))
		while (json_item(j)) {
			struct otlp_any item = {0};

			read_any(j, arena, &item);
			if (vec_push(&items, item))
				no_memory(j);
		}
	ret->type = ANY_ARRAY;
	ret->items = keep(j, arena, items.v, items.n, sizeof(*items.v));
	ret->n = ret->items ? (uint32_t)items.n : 0;
	vec_release(&items);
}

static void read_object(struct json *j, struct arena *arena, struct otlp_any *ret)
{
	VEC(struct otlp_pair) pairs = {0};
	struct str key;

	if (json_object(j))
		while (json_key(j, &key)) {
			struct otlp_pair pair = {.key = {arena_copy(arena, key), key.n}};

			if (!pair.key.p)
				no_memory(j);
			read_any(j, arena, &pair.value);
			if (vec_push(&pairs, pair))
				no_memory(j);
		}
	ret->type = ANY_LIST;
	ret->pairs = keep(j, arena, pairs.v, pairs.n, sizeof(*pairs.v));
	ret->n = ret->pairs ? (uint32_t)pairs.n : 0;
	vec_release(&pairs);
}

static void read_number(struct json *j, struct otlp_any *ret)
{
	struct json_number n;

	if (!json_number(j, &n))
		return;
	if (n.kind == JSON_I64)
		*ret = (struct otlp_any){.type = ANY_INT, .number = n.i};
	else
		*ret = (struct otlp_any){.type = ANY_DOUBLE, .real = json_number_double(&n)};
}

/* The cursor bounds the depth. */
static void read_any(struct json *j, struct arena *arena, struct otlp_any *ret)
{
	bool yes = false;

	switch (json_peek(j)) {
	case JSON_ARRAY:
		read_array(j, arena, ret);
		break;
	case JSON_OBJECT:
		read_object(j, arena, ret);
		break;
	case JSON_STRING:
		if (json_string_keep(j, arena, &ret->text))
			ret->type = ANY_STRING;
		break;
	case JSON_BOOL:
		if (json_bool(j, &yes))
			*ret = (struct otlp_any){.type = ANY_BOOL, .number = yes};
		break;
	case JSON_NUMBER:
		read_number(j, ret);
		break;
	default:
		json_skip(j);
	}
}

enum err otlp_any_of_json(struct str json, struct arena *arena, struct otlp_any *ret)
{
	struct reading unheard = {.limits = LIMITS_DEFAULT};
	struct otlp_any value = {0};
	struct json j;
	enum err e;

	json_init(&j, json, "label", MAX_NESTING, &unheard);
	read_any(&j, arena, &value);
	e = json_finish(&j);
	json_release(&j);
	notes_release(&unheard.notes);
	if (e == ERR_NO_MEMORY)
		return e;
	*ret = e ? (struct otlp_any){.type = ANY_STRING, .text = json} : value;
	return ERR_OK;
}
