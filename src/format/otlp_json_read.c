/*
 * Reading OTLP JSON: the tree of resources, scopes, profiles and samples. It fills the tables of
 * otlp_tables.h, which check the indices and build the model.
 */
#include "format/formats_internal.h"
#include "format/otlp_json.h"

static void take_values(struct otlp_json *r, struct otlp_range *ret)
{
	struct otlp_range range = {.at = (uint32_t)r->t->values.n};

	if (json_array(&r->j))
		while (json_item(&r->j)) {
			int64_t value = 0;

			otlp_take_i64(r, &value);
			if (!OTLP_PUSH(r, &r->t->values, value))
				return;
			range.n++;
		}
	*ret = range;
}

static void take_times(struct otlp_json *r, struct otlp_range *ret)
{
	struct otlp_range range = {.at = (uint32_t)r->t->times.n};

	if (json_array(&r->j))
		while (json_item(&r->j)) {
			uint64_t time = 0;

			otlp_take_u64(r, &time);
			if (!OTLP_PUSH(r, &r->t->times, time))
				return;
			range.n++;
		}
	*ret = range;
}

static void take_sample(struct otlp_json *r)
{
	struct otlp_sample s = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "stack_index"))
				otlp_take_i32(r, &s.stack);
			else if (otlp_key_is(key, "link_index"))
				otlp_take_i32(r, &s.link);
			else if (otlp_key_is(key, "attribute_indices"))
				otlp_take_indices(r, &s.attributes);
			else if (otlp_key_is(key, "values") || otlp_key_is(key, "value"))
				take_values(r, &s.values);
			else if (otlp_key_is(key, "timestamps_unix_nano"))
				take_times(r, &s.times);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->samples, s);
}

static void take_samples(struct otlp_json *r, struct otlp_range *ret)
{
	ret->at = (uint32_t)r->t->samples.n;
	if (json_array(&r->j))
		while (json_item(&r->j))
			take_sample(r);
	ret->n = (uint32_t)r->t->samples.n - ret->at;
}

static void take_value_type(struct otlp_json *r, struct otlp_value_type *ret)
{
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "type_strindex"))
				otlp_take_i32(r, &ret->type);
			else if (otlp_key_is(key, "unit_strindex"))
				otlp_take_i32(r, &ret->unit);
			else
				json_skip(&r->j);
		}
}

/* Metadata of a profile; false if the key is none of these. */
static bool take_profile_header(struct otlp_json *r, struct str key, struct otlp_profile *p)
{
	if (otlp_key_is(key, "sample_type"))
		take_value_type(r, &p->sample_type);
	else if (otlp_key_is(key, "period_type"))
		take_value_type(r, &p->period_type);
	else if (otlp_key_is(key, "period"))
		otlp_take_i64(r, &p->period);
	else if (otlp_key_is(key, "time_unix_nano"))
		otlp_take_u64(r, &p->time);
	else if (otlp_key_is(key, "duration_nano"))
		otlp_take_u64(r, &p->duration);
	else if (otlp_key_is(key, "profile_id"))
		otlp_take_id(r, 16, &p->id);
	else
		return false;
	return true;
}

static void take_profile(struct otlp_json *r)
{
	struct otlp_profile p = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (take_profile_header(r, key, &p))
				continue;
			if (otlp_key_is(key, "samples") || otlp_key_is(key, "sample"))
				take_samples(r, &p.samples);
			else if (otlp_key_is(key, "dropped_attributes_count"))
				otlp_take_u32(r, &p.dropped_attributes);
			else if (otlp_key_is(key, "original_payload_format"))
				otlp_take_string(r, &p.payload_format);
			else if (otlp_key_is(key, "original_payload"))
				otlp_take_base64(r, &p.payload);
			else if (otlp_key_is(key, "attribute_indices"))
				otlp_take_indices(r, &p.attributes);
			else if (otlp_key_is(key, "comment_strindices"))
				otlp_take_indices(r, &p.comments);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->profiles, p);
}

static void take_scope(struct otlp_json *r, struct otlp_scope *s)
{
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "name"))
				otlp_take_string(r, &s->name);
			else if (otlp_key_is(key, "version"))
				otlp_take_string(r, &s->version);
			else if (otlp_key_is(key, "attributes"))
				otlp_take_pairs(r, &s->attributes, &s->attribute_count);
			else if (otlp_key_is(key, "dropped_attributes_count"))
				otlp_take_u32(r, &s->dropped_attributes);
			else
				json_skip(&r->j);
		}
}

static void take_scope_profiles(struct otlp_json *r)
{
	struct otlp_scope s = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "scope")) {
				take_scope(r, &s);
			} else if (otlp_key_is(key, "schema_url")) {
				otlp_take_string(r, &s.schema_url);
			} else if (otlp_key_is(key, "profiles")) {
				s.profiles.at = (uint32_t)r->t->profiles.n;
				if (json_array(&r->j))
					while (json_item(&r->j))
						take_profile(r);
				s.profiles.n = (uint32_t)r->t->profiles.n - s.profiles.at;
			} else {
				json_skip(&r->j);
			}
		}
	OTLP_PUSH(r, &r->t->scopes, s);
}

static void take_resource(struct otlp_json *r, struct otlp_resource *ret)
{
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "attributes")) {
				otlp_take_pairs(r, &ret->attributes, &ret->attribute_count);
			} else if (otlp_key_is(key, "dropped_attributes_count")) {
				otlp_take_u32(r, &ret->dropped_attributes);
			} else if (otlp_key_is(key, "entity_refs")) {
				ret->entity_refs = 0;
				if (json_array(&r->j))
					for (; json_item(&r->j); ret->entity_refs++)
						json_skip(&r->j);
			} else {
				json_skip(&r->j);
			}
		}
}

static void take_resource_profiles(struct otlp_json *r)
{
	struct otlp_resource resource = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "resource")) {
				take_resource(r, &resource);
			} else if (otlp_key_is(key, "schema_url")) {
				otlp_take_string(r, &resource.schema_url);
			} else if (otlp_key_is(key, "scope_profiles")) {
				resource.scopes.at = (uint32_t)r->t->scopes.n;
				if (json_array(&r->j))
					while (json_item(&r->j))
						take_scope_profiles(r);
				resource.scopes.n = (uint32_t)r->t->scopes.n - resource.scopes.at;
			} else {
				json_skip(&r->j);
			}
		}
	OTLP_PUSH(r, &r->t->resources, resource);
}

/* The scope that holds a profile, then the resource that holds the scope, as a path. */
static void locate_profile(const struct otlp_tables *t, size_t profile, struct buf *out)
{
	for (size_t s = 0; s < t->scopes.n; s++) {
		struct otlp_range in = t->scopes.v[s].profiles;

		if (profile < in.at || profile - in.at >= in.n)
			continue;
		for (size_t i = 0; i < t->resources.n; i++) {
			struct otlp_range scopes = t->resources.v[i].scopes;

			if (s >= scopes.at && s - scopes.at < scopes.n)
				buf_printf(out,
					   "resourceProfiles[%zu].scopeProfiles[%zu].profiles[%zu]",
					   i, s - scopes.at, profile - in.at);
		}
	}
}

static void locate(const struct otlp_tables *t, enum otlp_kind kind, size_t index, struct buf *out)
{
	static const char *const names[OTLP_KIND_COUNT_] = {
		[OTLP_MAPPING] = "mappingTable",     [OTLP_LOCATION] = "locationTable",
		[OTLP_FUNCTION] = "functionTable",   [OTLP_STACK] = "stackTable",
		[OTLP_ATTRIBUTE] = "attributeTable",
	};

	if (names[kind]) {
		buf_printf(out, "dictionary.%s[%zu]", names[kind], index);
	} else if (kind == OTLP_PROFILE) {
		locate_profile(t, index, out);
	} else {
		for (size_t p = 0; p < t->profiles.n; p++) {
			struct otlp_range in = t->profiles.v[p].samples;

			if (index < in.at || index - in.at >= in.n)
				continue;
			locate_profile(t, p, out);
			buf_printf(out, ".samples[%zu]", index - in.at);
			return;
		}
	}
}

/* One object: strings, the other tables, then the tree that refers to them. */
static enum err take_message(struct otlp_json *r)
{
	struct json_mark tree = {0}, dictionary = {0}, behind;
	struct str key;

	if (!json_object(&r->j))
		return r->j.error ? r->j.error
				  : json_fail(&r->j, ERR_CORRUPT, "expected an object");
	while (json_key(&r->j, &key)) {
		if (otlp_key_is(key, "resource_profiles"))
			json_mark_skip(&r->j, &tree);
		else if (otlp_key_is(key, "dictionary"))
			json_mark_skip(&r->j, &dictionary);
		else
			json_skip(&r->j);
	}
	behind = json_mark(&r->j);
	for (int strings = 1; strings >= 0 && dictionary.p; strings--) {
		json_seek(&r->j, &dictionary);
		otlp_take_dictionary(r, strings);
	}
	if (tree.p) {
		json_seek(&r->j, &tree);
		if (json_array(&r->j))
			while (json_item(&r->j))
				take_resource_profiles(r);
	}
	json_seek(&r->j, &behind);
	return r->j.error;
}

/* Pools that are there even when empty: a range of none may then be pointed at. */
static enum err prepare_pools(struct otlp_tables *t)
{
	TRY(vec_reserve(&t->indices, 1));
	TRY(vec_reserve(&t->lines, 1));
	TRY(vec_reserve(&t->values, 1));
	return vec_reserve(&t->times, 1);
}

static enum err read_messages(struct otlp_json *r)
{
	unsigned count = 0;

	TRY(prepare_pools(r->t));
	do {
		otlp_tables_clear(r->t);
		TRY(take_message(r));
		TRY(otlp_build(r->t, r->out));
		count++;
	} while (json_more(&r->j));
	json_note_replaced(&r->j, r->out);
	if (count > 1)
		r->out->variant = "OTLP JSON, an object per line";
	return ERR_OK;
}

enum err otlp_json_read(struct str bytes, struct reading *out)
{
	struct otlp_tables tables;
	struct otlp_json r = {.t = &tables, .out = out};
	enum err e;

	otlp_tables_init(&tables, &out->limits);
	tables.locate = locate;
	json_init(&r.j, bytes, "OTLP JSON", out->limits.max_nesting, out);
	e = read_messages(&r);
	if (!e)
		e = profile_list_settle(out->list);
	json_release(&r.j);
	vec_release(&r.items);
	vec_release(&r.pairs);
	otlp_tables_release(&tables);
	return e;
}
