/*
 * Attributes -> labels. A list of attribute indices is seen again and again: the set it makes is
 * found by the list itself.
 */
#include "base/hash.h"
#include "format/otlp_builder.h"

/* `*ret` is NULL for an entry that says nothing: the zero entry, or one without a key. */
enum err otlp_attribute_at(const struct otlp_builder *b, struct otlp_range list, uint32_t i,
			   const char *field, enum otlp_kind kind, size_t at,
			   const struct otlp_attribute **ret, struct str *ret_key)
{
	int32_t index = b->t->indices.v[list.at + i];
	const struct otlp_attribute *a;

	*ret = NULL;
	if (index < 0 || (size_t)index >= b->t->attributes.n) {
		if (index == 0)
			return ERR_OK;
		return otlp_bad_index(b, field, index, "attribute_table", b->t->attributes.n, kind,
				      at);
	}
	a = &b->t->attributes.v[index];
	if (otlp_string_at(b->t, a->key, ret_key))
		return otlp_bad_index(b, "KeyValueAndUnit.key_strindex", a->key, "string_table",
				      b->t->strings.n, OTLP_ATTRIBUTE, (size_t)index);
	if (ret_key->n)
		*ret = a;
	else if (index)
		notes_add(&b->out->notes, "an attribute without a key was dropped");
	return ERR_OK;
}

static enum err json_text(struct otlp_builder *b, const struct otlp_any *value, uint32_t *ret)
{
	CLEANUP(buf_release) struct buf json = BUF_INIT(b->out->limits.max_string);

	otlp_any_json(value, &json);
	if (json.error == ERR_TOO_LARGE)
		return fault_set(&b->out->fault, ERR_TOO_LARGE,
				 "an attribute has more than %u bytes as JSON",
				 b->out->limits.max_string);
	TRY(buf_error(&json));
	return otlp_text(b, buf_view(&json), ret);
}

enum err otlp_label(struct otlp_builder *b, uint32_t key, uint32_t unit,
		    const struct otlp_any *value, uint32_t *ret)
{
	struct label l = {.key = key, .unit = unit};
	uint32_t text = 0;

	switch (value->type) {
	case ANY_STRING:
		l.type = LABEL_STRING;
		TRY(otlp_text(b, value->text, &text));
		l.value = text;
		break;
	case ANY_BYTES:
		l.type = LABEL_BYTES;
		TRY(otlp_spend_text(b, value->text.n));
		TRY(dict_string(b->d, value->text, &text));
		l.value = text;
		break;
	case ANY_BOOL:
		l.type = LABEL_BOOL;
		l.value = value->number;
		break;
	case ANY_INT:
		l.type = LABEL_INT;
		l.value = value->number;
		break;
	case ANY_DOUBLE:
		l.type = LABEL_DOUBLE;
		memcpy(&l.value, &value->real, sizeof(value->real));
		break;
	default:
		l.type = LABEL_JSON;
		TRY(json_text(b, value, &text));
		l.value = text;
	}
	return dict_label(b->d, &l, ret);
}

/* The encoding of several pprof values with one key (otlp_plan_labels.c). */
static bool is_multi_value(const struct otlp_any *value)
{
	if (value->type != ANY_ARRAY || value->n < 2)
		return false;
	for (uint32_t i = 0; i < value->n; i++)
		if (value->items[i].type != ANY_STRING && value->items[i].type != ANY_INT)
			return false;
	return true;
}

static enum err build_attribute(struct otlp_builder *b, size_t index)
{
	const struct otlp_attribute *a = &b->t->attributes.v[index];
	struct otlp_range range = {(uint32_t)b->labels.n, 0};
	uint32_t key, unit, id, number_unit;

	TRY(otlp_string(b, a->key, "KeyValueAndUnit.key_strindex", OTLP_ATTRIBUTE, index, &key));
	TRY(otlp_string(b, a->unit, "KeyValueAndUnit.unit_strindex", OTLP_ATTRIBUTE, index, &unit));
	if (!is_multi_value(&a->value)) {
		TRY(otlp_label(b, key, unit, &a->value, &id));
		TRY(vec_push(&b->labels, id));
	} else {
		for (uint32_t i = 0; i < a->value.n; i++) {
			number_unit = a->value.items[i].type == ANY_INT ? unit : 0;
			TRY(otlp_label(b, key, number_unit, &a->value.items[i], &id));
			TRY(vec_push(&b->labels, id));
		}
	}
	range.n = (uint32_t)b->labels.n - range.at;
	b->attributes[index] = range;
	return ERR_OK;
}

enum err otlp_label_set(struct otlp_builder *b, uint32_t *labels, size_t n, uint32_t *ret)
{
	if (n > OTLP_MAX_LABELS)
		return fault_set(&b->out->fault, ERR_TOO_LARGE,
				 "a list of attributes has %zu values, more than %d", n,
				 OTLP_MAX_LABELS);
	return dict_label_set(b->d, labels, (uint32_t)n, ret);
}

static enum err build_set(struct otlp_builder *b, struct otlp_range list, size_t sample,
			  uint32_t *ret)
{
	size_t keys = 0, different = 0;

	b->scratch.n = 0;
	for (uint32_t i = 0; i < list.n; i++) {
		const struct otlp_attribute *a;
		struct otlp_range *known;
		struct str key;

		TRY(otlp_attribute_at(b, list, i, "Sample.attribute_indices", OTLP_SAMPLE, sample,
				      &a, &key));
		if (!a)
			continue;
		known = &b->attributes[a - b->t->attributes.v];
		if (known->at == NOT_YET)
			TRY(build_attribute(b, (size_t)(a - b->t->attributes.v)));
		TRY(vec_append(&b->scratch, b->labels.v + known->at, known->n));
		keys++;
	}
	TRY(otlp_label_set(b, b->scratch.v, b->scratch.n, ret));
	/* They are sorted now: duplicate keys are adjacent. */
	for (size_t i = 0; i < b->scratch.n; i++)
		different += !i || b->d->labels.v[b->scratch.v[i]].key !=
					   b->d->labels.v[b->scratch.v[i - 1]].key;
	if (different < keys)
		notes_add(&b->out->notes,
			  "a sample has two attributes with one key: both are kept");
	return ERR_OK;
}

static enum err find_set(struct otlp_builder *b, struct otlp_range list, size_t sample,
			 uint32_t *ret)
{
	const int32_t *indices = b->t->indices.v + list.at;
	size_t bytes = list.n * sizeof(*indices);
	struct otlp_set_memo memo = {.indices = list};
	uint64_t hash = hash_bytes(indices, bytes, b->d->seed);

	MAP_PROBE(&b->set_index, hash, id)
	{
		const struct otlp_set_memo *known = &b->sets.v[id];

		if (known->indices.n == list.n &&
		    memcmp(b->t->indices.v + known->indices.at, indices, bytes) == 0) {
			*ret = known->set;
			return ERR_OK;
		}
	}
	TRY(build_set(b, list, sample, &memo.set));
	TRY(map_put(&b->set_index, hash, (uint32_t)b->sets.n));
	TRY(vec_push(&b->sets, memo));
	*ret = memo.set;
	return ERR_OK;
}

enum err otlp_sample_labels(struct otlp_builder *b, const struct otlp_sample *s, size_t at,
			    uint32_t *ret)
{
	uint32_t *single;
	int32_t first;

	if (!s->attributes.n) {
		*ret = 0;
		return ERR_OK;
	}
	first = b->t->indices.v[s->attributes.at];
	if (s->attributes.n > 1 || first < 0 || (size_t)first >= b->t->attributes.n)
		return find_set(b, s->attributes, at, ret);
	single = &b->single_sets[first];
	if (*single == NOT_YET)
		TRY(build_set(b, s->attributes, at, single));
	*ret = *single;
	return ERR_OK;
}

enum err otlp_pair_labels(struct otlp_builder *b, const struct otlp_pair *pairs, uint32_t n,
			  uint32_t *ret)
{
	uint32_t key, id;

	b->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!pairs[i].key.n) {
			notes_add(&b->out->notes, "an attribute without a key was dropped");
			continue;
		}
		TRY(otlp_text(b, pairs[i].key, &key));
		TRY(otlp_label(b, key, 0, &pairs[i].value, &id));
		TRY(vec_push(&b->scratch, id));
	}
	return otlp_label_set(b, b->scratch.v, b->scratch.n, ret);
}
