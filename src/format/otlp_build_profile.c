/*
 * Metadata of a profile: types, times, and the attributes that the model has fields for.
 */
#include <stdlib.h>

#include "format/otlp_builder.h"

static int64_t clamp_time(struct otlp_builder *b, uint64_t time, const char *field)
{
	if (time <= INT64_MAX)
		return (int64_t)time;
	notes_add(&b->out->notes, "Profile.%s does not fit 63 bits: dropped", field);
	return 0;
}

static enum err add_comment(struct otlp_builder *b, const struct otlp_any *value,
			    struct profile *dst)
{
	uint32_t text;

	if (value->type != ANY_STRING) {
		notes_add(&b->out->notes, "a comment that is not text was dropped");
		return ERR_OK;
	}
	TRY(otlp_text(b, value->text, &text));
	return vec_push(&dst->comments, text);
}

static enum err add_comments(struct otlp_builder *b, const struct otlp_any *value,
			     struct profile *dst)
{
	if (value->type != ANY_ARRAY)
		return add_comment(b, value, dst);
	for (uint32_t i = 0; i < value->n; i++)
		TRY(add_comment(b, &value->items[i], dst));
	return ERR_OK;
}

/* The collector writes pprof.profile.comment.0, .1 …, in any order. */
struct numbered {
	uint64_t number;
	const struct otlp_any *value;
};

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

struct header {
	struct otlp_builder *b;
	struct profile *dst;
	VEC(struct numbered) numbered;
	VEC(uint32_t) rest; /* labels */
};

static bool numbered_comment(struct str key, uint64_t *ret)
{
	struct str prefix = STR(ATTR_COMMENT ".");

	return str_starts(key, prefix) && !str_to_u64(str_skip(key, prefix.n), 10, ret);
}

static enum err keep_label(struct header *h, struct str key, int32_t unit_index, size_t at,
			   const struct otlp_any *value)
{
	uint32_t name, unit = 0, id;

	TRY(otlp_text(h->b, key, &name));
	TRY(otlp_string(h->b, unit_index, "KeyValueAndUnit.unit_strindex", OTLP_PROFILE, at,
			&unit));
	TRY(otlp_label(h->b, name, unit, value, &id));
	return vec_push(&h->rest, id);
}

static enum err take_attribute(struct header *h, const struct otlp_attribute *a, struct str key,
			       size_t at)
{
	struct profile *p = h->dst;
	const struct {
		struct str key;
		uint32_t *field;
	} texts[] = {
		{STR(ATTR_DOC_URL), &p->doc_url},
		{STR(ATTR_DROP_FRAMES), &p->drop_frames},
		{STR(ATTR_KEEP_FRAMES), &p->keep_frames},
	};
	struct numbered comment = {.value = &a->value};

	if (str_eq(key, STR(ATTR_COMMENT)))
		return add_comments(h->b, &a->value, p);
	if (numbered_comment(key, &comment.number))
		return vec_push(&h->numbered, comment);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (a->value.type == ANY_STRING && str_eq(key, texts[i].key))
			return otlp_text(h->b, a->value.text, texts[i].field);
	return keep_label(h, key, a->unit, at, &a->value);
}

static enum err scope_attributes(struct header *h, const struct otlp_scope *scope, size_t at)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT((size_t)h->b->out->limits.max_string + 64);

	for (uint32_t i = 0; i < scope->attribute_count; i++) {
		const struct otlp_pair *pair = &scope->attributes[i];

		if (str_eq(pair->key, STR(ATTR_DEFAULT_TYPE)) ||
		    str_eq(pair->key, STR(ATTR_TYPE_ORDER)) || !pair->key.n)
			continue;
		buf_clear(&key);
		buf_text(&key, ATTR_SCOPE_PREFIX);
		buf_str(&key, pair->key);
		TRY(buf_error(&key));
		TRY(keep_label(h, buf_view(&key), 0, at, &pair->value));
	}
	return ERR_OK;
}

static enum err read_attributes(struct header *h, const struct otlp_profile *src, size_t at,
				const struct otlp_scope *scope)
{
	struct otlp_builder *b = h->b;
	const struct otlp_attribute *a;
	struct str key;
	uint32_t text;

	for (uint32_t i = 0; i < src->comments.n; i++) {
		TRY(otlp_string(b, b->t->indices.v[src->comments.at + i],
				"Profile.comment_strindices", OTLP_PROFILE, at, &text));
		TRY(vec_push(&h->dst->comments, text));
	}
	for (uint32_t i = 0; i < src->attributes.n; i++) {
		TRY(otlp_attribute_at(b, src->attributes, i, "Profile.attribute_indices",
				      OTLP_PROFILE, at, &a, &key));
		if (a)
			TRY(take_attribute(h, a, key, at));
	}
	if (h->numbered.n)
		qsort(h->numbered.v, h->numbered.n, sizeof(*h->numbered.v), by_number);
	vec_for_each (comment, &h->numbered)
		TRY(add_comment(b, comment->value, h->dst));
	TRY(scope_attributes(h, scope, at));
	return otlp_label_set(b, h->rest.v, h->rest.n, &h->dst->attributes);
}

enum err otlp_profile_header(struct otlp_builder *b, const struct otlp_profile *src, size_t at,
			     const struct otlp_scope *scope, struct profile *dst)
{
	struct header h = {.b = b, .dst = dst};
	enum err e;

	TRY(otlp_string(b, src->period_type.type, "Profile.period_type.type_strindex", OTLP_PROFILE,
			at, &dst->period_type.type));
	TRY(otlp_string(b, src->period_type.unit, "Profile.period_type.unit_strindex", OTLP_PROFILE,
			at, &dst->period_type.unit));
	dst->period = src->period;
	dst->time_ns = clamp_time(b, src->time, "time_unix_nano");
	dst->duration_ns = clamp_time(b, src->duration, "duration_nano");
	TRY(otlp_text(b, scope->name, &dst->scope_name));
	TRY(otlp_text(b, scope->version, &dst->scope_version));
	if (src->id.n == sizeof(dst->profile_id))
		memcpy(dst->profile_id, src->id.p, src->id.n);
	else if (src->id.n)
		notes_add(&b->out->notes, "a profile_id of %zu bytes instead of 16 was dropped",
			  src->id.n);
	e = read_attributes(&h, src, at, scope);
	vec_release(&h.numbered);
	vec_release(&h.rest);
	return e;
}

/* Only formats whose readers never lead back here. */
static const struct format *payload_format(struct str name)
{
	if (str_eq(name, STR("pprof")) || str_eq(name, STR("jfr")))
		return format_by_name(name);
	return NULL;
}

static enum err read_payload(struct otlp_builder *b, const struct format *format, struct str bytes)
{
	struct reading *out = b->out;
	const char *compression = out->compression, *variant = out->variant;
	size_t plain = out->plain_bytes, limit = out->limits.max_bytes;
	enum err e;

	/* Payloads of one file share its ceiling. */
	out->limits.max_bytes -= b->payload_bytes < limit ? b->payload_bytes : limit;
	e = format_read(bytes, format, out, NULL);
	b->payload_bytes += out->plain_bytes;
	out->limits.max_bytes = limit;
	out->compression = compression;
	out->variant = variant;
	out->plain_bytes = plain;
	if (e)
		fault_prefix(&out->fault, "original_payload");
	return e;
}

enum err otlp_payload(struct otlp_builder *b, const struct otlp_profile *src, uint32_t resource,
		      bool *ret_taken)
{
	const struct format *format = payload_format(src->payload_format);
	size_t before = b->out->list->n;

	*ret_taken = false;
	if (!src->payload.n)
		return ERR_OK;
	if (src->samples.n || !format || !format->read) {
		notes_add(&b->out->notes, "an original_payload (%.*s) was dropped",
			  (int)(src->payload_format.n < 40 ? src->payload_format.n : 40),
			  src->payload_format.p);
		return ERR_OK;
	}
	TRY(read_payload(b, format, src->payload));
	for (size_t i = before; i < b->out->list->n; i++)
		if (!b->out->list->v[i]->resource)
			b->out->list->v[i]->resource = resource;
	*ret_taken = true;
	return ERR_OK;
}
