/*
 * Reading speedscope files: the outer shape. Profiles of one unit become one profile; when the
 * file has several, a row's label thread.name says which one it is from. Files written by Vestal
 * name the sample type there instead.
 */
#include <math.h>

#include "base/hash.h"
#include "format/formats_internal.h"
#include "format/speedscope.h"

static const struct scope_unit units[] = {
	{"none", "samples", "count", 1},
	{"nanoseconds", "wall", "nanoseconds", 1},
	{"microseconds", "wall", "nanoseconds", 1000},
	{"milliseconds", "wall", "nanoseconds", 1000000},
	{"seconds", "wall", "nanoseconds", 1000000000},
	{"bytes", "space", "bytes", 1},
};

static void scope_release(struct scope *s)
{
	json_release(&s->j);
	vec_release(&s->frames);
	vec_release(&s->path);
	for (uint32_t i = 0; i < s->target_count; i++) {
		map_release(&s->targets[i].rows);
		fractions_release(&s->targets[i].fractions);
	}
}

bool scope_value(struct json *j, const struct scope_unit *unit, int64_t *ret)
{
	double rest;

	if (!scope_weight(j, unit, ret, &rest))
		return false;
	*ret += rest >= 0.5;
	return true;
}

bool scope_weight(struct json *j, const struct scope_unit *unit, int64_t *ret, double *ret_rest)
{
	size_t offset = json_offset(j);
	struct json_number n;
	double scaled;

	if (!json_number(j, &n))
		return false;
	*ret_rest = 0;
	if (n.kind == JSON_I64 && !__builtin_mul_overflow(n.i, unit->factor, ret))
		return true;
	scaled = json_number_double(&n) * (double)unit->factor;
	if (!(scaled > -0x1p63 && scaled < 0x1p63)) {
		json_fail_at(j, offset, ERR_CORRUPT, "the value does not fit 64 bits as %s",
			     unit->unit);
		return false;
	}
	*ret = (int64_t)floor(scaled);
	*ret_rest = scaled - floor(scaled);
	return true;
}

bool scope_frame(struct scope *s, uint32_t *ret)
{
	size_t offset = json_offset(&s->j);
	uint32_t index = UINT32_MAX;

	if (!json_u32(&s->j, &index))
		return false;
	if (index >= s->frames.n) {
		json_fail_at(&s->j, offset, ERR_BAD_INDEX, "frame %u of %zu frames does not exist",
			     index, s->frames.n);
		return false;
	}
	*ret = s->frames.v[index];
	return true;
}

/* The row of a stack, made when it is new. */
static enum err find_row(struct scope *s, uint32_t stack, uint32_t *ret)
{
	uint64_t hash = hash_mix(stack, s->labels);
	struct row row = {.stack = stack, .labels = s->labels};
	struct profile *p = s->target->profile;
	int64_t none = 0;

	MAP_PROBE(&s->target->rows, hash, i)
	{
		if (p->stack[i] == stack && p->labels[i] == s->labels) {
			*ret = i;
			return ERR_OK;
		}
	}
	*ret = (uint32_t)p->row_count;
	TRY(map_put(&s->target->rows, hash, *ret));
	return profile_add(p, &row, &none);
}

enum err scope_add(struct scope *s, uint32_t stack, int64_t value, double rest)
{
	int64_t carry, *at;
	uint32_t row;

	TRY(find_row(s, stack, &row));
	TRY(fractions_add(&s->target->fractions, row, rest, &carry));
	at = &s->target->profile->values[row];
	if (__builtin_add_overflow(*at, value, at) || __builtin_add_overflow(*at, carry, at))
		return json_fail(&s->j, ERR_CORRUPT, "the sum of a stack does not fit in 64 bits");
	return ERR_OK;
}

static enum err keep_string(struct scope *s, uint32_t *ret)
{
	struct str text = {NULL, 0};

	if (!json_string(&s->j, &text))
		return s->j.error;
	return dict_string(s->out->dict, text, ret);
}

static enum err read_frame(struct scope *s)
{
	struct function function = {0};
	struct frame frame = {.flags = FRAME_HAS_LINE};
	struct dict *d = s->out->dict;
	uint32_t id;
	struct str key;

	if (json_object(&s->j))
		while (json_key(&s->j, &key)) {
			if (str_eq(key, STR("name")))
				TRY(keep_string(s, &function.name));
			else if (str_eq(key, STR("file")))
				TRY(keep_string(s, &function.file));
			else if (str_eq(key, STR("line")))
				json_i64(&s->j, &frame.line);
			else if (str_eq(key, STR("col")))
				json_u32(&s->j, &frame.column);
			else
				json_skip(&s->j);
		}
	if (s->j.error)
		return s->j.error;
	if (!function.name)
		TRY(dict_string(d, STR("(anonymous)"), &function.name));
	TRY(dict_function(d, &function, &frame.function));
	TRY(dict_frame(d, &frame, &id));
	return vec_push(&s->frames, id);
}

static enum err read_shared(struct scope *s, const struct json_mark *shared)
{
	struct str key;

	json_seek(&s->j, shared);
	if (!json_object(&s->j))
		return s->j.error;
	while (json_key(&s->j, &key)) {
		if (!str_eq(key, STR("frames"))) {
			json_skip(&s->j);
			continue;
		}
		s->frames.n = 0;
		if (json_array(&s->j))
			while (json_item(&s->j))
				TRY(read_frame(s));
	}
	return s->j.error;
}

static void take_type(struct json *j, struct scope_profile *p)
{
	struct str type = {NULL, 0};

	if (!json_string(j, &type))
		return;
	p->type = str_eq(type, STR("sampled"))	 ? SCOPE_SAMPLED
		  : str_eq(type, STR("evented")) ? SCOPE_EVENTED
						 : SCOPE_UNKNOWN;
	if (p->type == SCOPE_UNKNOWN)
		json_fail(j, ERR_CORRUPT, "the type is neither \"sampled\" nor \"evented\"");
}

static void take_unit(struct json *j, struct scope_profile *p)
{
	struct str name = {NULL, 0};

	if (!json_string(j, &name))
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_eq(name, str_of(units[i].name)))
			p->unit = &units[i];
	if (!p->unit)
		json_fail(j, ERR_CORRUPT,
			  "the unit is not one of none, nanoseconds, microseconds, "
			  "milliseconds, seconds, bytes");
}

/* Notes where the parts of a profile are: they may come in any order. */
static enum err take_profile(struct scope *s, struct scope_profile *p)
{
	struct json *j = &s->j;
	struct str key;

	*p = (struct scope_profile){.unit = NULL, .offset = json_offset(j)};
	if (!json_object(j))
		return j->error ? j->error : json_fail(j, ERR_CORRUPT, "expected a profile");
	while (json_key(j, &key)) {
		if (str_eq(key, STR("type")))
			take_type(j, p);
		else if (str_eq(key, STR("unit")))
			take_unit(j, p);
		else if (str_eq(key, STR("name")))
			TRY(keep_string(s, &p->name));
		else if (str_eq(key, STR("startValue")))
			json_mark_skip(j, &p->start);
		else if (str_eq(key, STR("endValue")))
			json_mark_skip(j, &p->end);
		else if (str_eq(key, STR("samples")))
			json_mark_skip(j, &p->samples);
		else if (str_eq(key, STR("weights")))
			json_mark_skip(j, &p->weights);
		else if (str_eq(key, STR("events")))
			json_mark_skip(j, &p->events);
		else
			json_skip(j);
	}
	if (!j->error && p->type == SCOPE_UNKNOWN)
		json_fail_at(j, p->offset, ERR_CORRUPT, "the profile has no \"type\"");
	if (!p->unit)
		p->unit = &units[0];
	return j->error;
}

/* The target that rows of this profile go to: the one of the same type, or a new one. */
static enum err choose_target(struct scope *s, const struct scope_profile *p, bool own_types)
{
	struct dict *d = s->out->dict;
	struct value_type want = {.type = own_types ? p->name : 0};
	struct scope_target *target;

	if (!want.type)
		TRY(dict_text(d, p->unit->type, &want.type));
	TRY(dict_text(d, p->unit->unit, &want.unit));
	for (uint32_t i = 0; i < s->target_count; i++) {
		struct value_type known = s->targets[i].profile->types[0];

		if (known.type == want.type && known.unit == want.unit) {
			s->target = &s->targets[i];
			return ERR_OK;
		}
	}
	if (s->target_count == PROFILE_MAX_TYPES)
		return json_fail_at(&s->j, p->offset, ERR_TOO_LARGE, "more than %d sample types",
				    PROFILE_MAX_TYPES);
	target = &s->targets[s->target_count];
	TRY(profile_list_add(s->out->list, d, &target->profile));
	TRY(profile_add_type(target->profile, dict_str(d, want.type), dict_str(d, want.unit)));
	s->target_count++;
	s->target = target;
	return ERR_OK;
}

static enum err name_rows(struct scope *s, const struct scope_profile *p)
{
	struct label label = {.type = LABEL_STRING, .value = p->name};
	uint32_t id;

	s->labels = 0;
	if (!p->name)
		return ERR_OK;
	TRY(dict_text(s->out->dict, "thread.name", &label.key));
	TRY(dict_label(s->out->dict, &label, &id));
	return dict_label_set(s->out->dict, &id, 1, &s->labels);
}

/* endValue - startValue, when both are there and the values are times. */
static enum err add_duration(struct scope *s, const struct scope_profile *p)
{
	int64_t start = 0, end = 0, length;

	if (!p->start.p || !p->end.p)
		return ERR_OK;
	json_seek(&s->j, &p->start);
	if (!scope_value(&s->j, p->unit, &start))
		return s->j.error;
	json_seek(&s->j, &p->end);
	if (!scope_value(&s->j, p->unit, &end))
		return s->j.error;
	if (!__builtin_sub_overflow(end, start, &length) && p->unit->unit[0] == 'n' &&
	    length > s->target->profile->duration_ns)
		s->target->profile->duration_ns = length;
	return ERR_OK;
}

static enum err read_profiles(struct scope *s, const struct json_mark *profiles, uint64_t count,
			      bool own_types)
{
	json_seek(&s->j, profiles);
	if (!json_array(&s->j))
		return s->j.error;
	while (json_item(&s->j)) {
		struct scope_profile p;
		struct json_mark behind;

		TRY(take_profile(s, &p));
		behind = json_mark(&s->j);
		TRY(choose_target(s, &p, own_types));
		if (count > 1 && !own_types)
			TRY(name_rows(s, &p));
		TRY(add_duration(s, &p));
		TRY(p.type == SCOPE_SAMPLED ? scope_read_sampled(s, &p)
					    : scope_read_evented(s, &p));
		json_seek(&s->j, &behind);
	}
	return s->j.error;
}

struct outline {
	struct json_mark shared, profiles;
	uint64_t count; /* of profiles */
	bool own_types; /* written by Vestal */
};

static void take_outline(struct json *j, struct outline *o)
{
	struct str key, exporter = {NULL, 0};

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("shared"))) {
			json_mark_skip(j, &o->shared);
		} else if (str_eq(key, STR("profiles"))) {
			o->profiles = json_mark(j);
			o->count = 0;
			if (json_array(j))
				for (; json_item(j); o->count++)
					json_skip(j);
		} else if (str_eq(key, STR("exporter"))) {
			if (json_string(j, &exporter))
				o->own_types = str_starts(exporter, STR("vestal"));
		} else {
			json_skip(j);
		}
	}
}

static enum err read_scope(struct scope *s, struct str bytes)
{
	struct reading *out = s->out;
	struct outline o = {0};

	json_init(&s->j, bytes, "speedscope", out->limits.max_nesting, out);
	take_outline(&s->j, &o);
	TRY(json_finish(&s->j));
	if (!o.shared.p || !o.profiles.p)
		return fault_set(&out->fault, ERR_CORRUPT,
				 "speedscope: there is no \"%s\" in the file",
				 o.shared.p ? "profiles" : "shared");
	TRY(read_shared(s, &o.shared));
	TRY(read_profiles(s, &o.profiles, o.count, o.own_types));
	for (uint32_t i = 0; i < s->target_count; i++)
		TRY(fractions_settle(&s->targets[i].fractions, s->targets[i].profile, 0,
				     &out->notes));
	json_note_replaced(&s->j, out);
	if (s->negative)
		notes_add(&out->notes, "%llu weights are negative",
			  (unsigned long long)s->negative);
	return ERR_OK;
}

enum err speedscope_read(struct str bytes, struct reading *out)
{
	struct scope *s = mem_zalloc(1, sizeof(*s));
	enum err e;

	if (!s)
		return ERR_NO_MEMORY;
	s->out = out;
	e = read_scope(s, bytes);
	scope_release(s);
	mem_free(s);
	return e;
}
