/*
 * Java heap and contention profiles as text:
 *
 *	--- heapz 1 ---
 *	format = java
 *	resolution = bytes
 *	          7048     1 @ 0x00000003 0x00000004 …		bytes, objects (or delay, times)
 *
 *	 0x00000003 com.example.function003 (Source003.java:103)
 *
 * Addresses are only numbers of locations, which are named below the samples.
 */
#include "format/legacy.h"

#define JAVA_HEAP_RATE (512 * 1024)

static enum err add_types(struct legacy *l, bool heap, struct str unit)
{
	struct value_type *types = l->profile->types;
	uint32_t id;

	if (l->profile->type_count)
		return ERR_OK;
	TRY(text_intern(l->out, unit, &id));
	TRY(profile_add_type(l->profile, heap ? STR("inuse_objects") : STR("contentions"),
			     STR("count")));
	TRY(profile_add_type(l->profile, heap ? STR("inuse_space") : STR("delay"), STR("")));
	types[1].unit = id;
	return ERR_OK;
}

static enum err read_attribute(struct legacy *l, bool heap, struct str line)
{
	size_t equals = str_find(line, '=');
	struct str key = str_trim((struct str){line.p, equals});
	struct str value = str_trim(str_skip(line, equals + 1));
	int64_t number;

	if (str_eq(key, STR("format")) && str_eq(value, STR("java")))
		return ERR_OK;
	if (str_eq(key, STR("resolution")))
		return add_types(l, heap, value);
	if (heap || str_to_i64(value, &number) != ERR_OK)
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected format = java, resolution = UNIT or a number");
	if (str_eq(key, STR("sampling period"))) {
		TRY(dict_text(l->out->dict, "contentions", &l->profile->period_type.type));
		TRY(dict_text(l->out->dict, "count", &l->profile->period_type.unit));
		l->profile->period = number;
	} else if (str_eq(key, STR("ms since reset"))) {
		l->profile->duration_ns = legacy_to_i64((double)number * 1e6);
	} else {
		return text_fault(&l->lines, l->out, ERR_CORRUPT, "unknown attribute \"%.*s\"",
				  (int)(key.n < 40 ? key.n : 40), key.p);
	}
	return ERR_OK;
}

static enum err scale(struct legacy *l, bool heap, struct legacy_sample *s)
{
	int64_t period = l->profile->period;

	if (heap) {
		if (!s->values[0])
			return text_fault(&l->lines, l->out, ERR_CORRUPT,
					  "a heap sample has at least one object");
		s->has_bytes = true;
		s->bytes = s->values[1] / s->values[0];
		legacy_unsample(&s->values[0], &s->values[1], JAVA_HEAP_RATE);
		return ERR_OK;
	}
	if (period && (__builtin_mul_overflow(s->values[0], period, &s->values[0]) ||
		       __builtin_mul_overflow(s->values[1], period, &s->values[1])))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "value times sampling period does not fit in 64 bits");
	return ERR_OK;
}

/* Reads a sample; *ret is false when the line is none, which ends the samples. */
static enum err read_sample(struct legacy *l, bool heap, struct str line, bool *ret)
{
	struct legacy_sample *s;
	int64_t amount, count;

	*ret = legacy_take_int(&line, &amount) && legacy_take_int(&line, &count) && amount >= 0 &&
	       count >= 0 && legacy_take(&line, "@");
	if (!*ret)
		return ERR_OK;
	if (!l->profile->type_count)
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected \"resolution = UNIT\" before the first sample");
	TRY(legacy_begin_sample(l, &s));
	s->values[0] = count;
	s->values[1] = amount;
	TRY(scale(l, heap, s));
	return legacy_push_all(l, line, 0, false);
}

/* `name (File.java:12)`, `name (/path/lib.so)`, or a state of the machine such as GC. */
static void parse_location(struct str text, struct legacy_symbol *s)
{
	size_t open = str_rfind(text, '('), colon;
	struct str inside;

	s->name = text;
	if (text.n && text.p[text.n - 1] == ')' && open && open < text.n &&
	    text_is_space(text.p[open - 1])) {
		inside = (struct str){text.p + open + 1, text.n - open - 2};
		s->name = str_trim((struct str){text.p, open});
		colon = str_rfind(inside, ':');
		if (colon < inside.n && colon &&
		    str_to_i64(str_skip(inside, colon + 1), &s->line) == ERR_OK) {
			s->line = s->line > 0 ? s->line : 0;
			inside.n = colon;
		} else if (str_find(inside, '/') < inside.n) {
			inside = str_skip(inside, str_rfind(inside, '/') + 1);
		}
		s->file = inside;
	} else if (str_search(text, STR("generated stub/JIT")) < text.n) {
		s->name = STR("STUB");
	}
}

static enum err read_location(struct legacy *l, struct str line)
{
	struct legacy_symbol s = {0};
	struct str word;

	if (!text_word(&line, &word) || !str_starts(word, STR("0x")) || !text_hex(word, &s.address))
		return ERR_OK;
	parse_location(str_trim(line), &s);
	if (!s.name.n || legacy_find_symbol(l, s.address) != UINT32_MAX)
		return ERR_OK;
	return legacy_add_symbol(l, &s, false);
}

enum err legacy_java_locations(struct legacy *l)
{
	struct str line;

	l->java = true;
	while (text_line(&l->lines, &line))
		TRY(read_location(l, line));
	return ERR_OK;
}

enum err legacy_java(struct legacy *l)
{
	struct str line;
	bool heap, sample = true;

	l->out->variant = "legacy Java";
	if (!legacy_first_line(&l->lines, &line))
		return text_fault(&l->lines, l->out, ERR_CORRUPT, "expected \"--- heapz 1 ---\"");
	heap = str_search(line, STR("heapz")) < line.n;
	while (sample && text_line(&l->lines, &line)) {
		if (!str_trim(line).n)
			continue;
		if (str_find(line, '=') < line.n && !l->samples.n)
			TRY(read_attribute(l, heap, line));
		else
			TRY(read_sample(l, heap, line, &sample));
	}
	if (!sample)
		TRY(read_location(l, line));
	TRY(add_types(l, heap, heap ? STR("bytes") : STR("microseconds")));
	return legacy_java_locations(l);
}
