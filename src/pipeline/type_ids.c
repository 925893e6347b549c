#include "pipeline/type_ids.h"

#define MAX_WORD 256

struct type_words type_words_of(const struct profile *p, uint32_t column)
{
	const struct dict *d = p->dict;

	return (struct type_words){
		.type = dict_str(d, p->types[column].type),
		.unit = dict_str(d, p->types[column].unit),
		.period_type = dict_str(d, p->period_type.type),
		.period_unit = dict_str(d, p->period_type.unit),
	};
}

static bool allowed(unsigned char c)
{
	return c > ' ' && c != 0x7f && !memchr(":{}\",;'\\`", c, 9);
}

static char *put_word(char *at, struct str word, bool dashes)
{
	size_t n = word.n < MAX_WORD ? word.n : MAX_WORD;
	bool valid = utf8_valid(str_n(word.p, n));

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)word.p[i];

		if (!allowed(c) || (c >= 0x80 && !valid) || (c == '-' && !dashes))
			c = '_';
		*at++ = (char)c;
	}
	return at;
}

static enum err make(struct arena *a, const struct type_words *w, bool dashes, struct str *ret)
{
	const struct str *words = &w->name;
	size_t n = 5;
	char *text, *at;

	for (unsigned i = 0; i < 5; i++)
		n += words[i].n < MAX_WORD ? words[i].n : MAX_WORD;
	text = arena_alloc(a, n);
	if (!text)
		return ERR_NO_MEMORY;
	at = text;
	for (unsigned i = 0; i < 5; i++) {
		if (i)
			*at++ = ':';
		at = put_word(at, words[i], dashes || i != 1);
	}
	*ret = str_n(text, (size_t)(at - text));
	return ERR_OK;
}

enum err type_id_make(struct arena *a, const struct type_words *w, struct str *ret)
{
	return make(a, w, true, ret);
}

enum err type_id_make_pyroscope(struct arena *a, const struct type_words *w, struct str *ret)
{
	const struct str delta = STR("godeltaprof_");
	struct type_words words = *w;

	if (str_starts(words.name, delta))
		words.name = str_skip(words.name, delta.n);
	if (str_eq(words.name, STR("wall")) && str_eq(words.type, STR("cpu")))
		words.name = STR("process_cpu");
	return make(a, &words, false, ret);
}

static const struct label_pair pyroscope_names[] = {
	{STR("samples"), STR("cpu")},
	{STR("goroutine"), STR("goroutines")},
	{STR("contentions"), STR("mutex_count")},
	{STR("delay"), STR("mutex_duration")},
};

static struct str display_name(const struct display_names *names, struct str type)
{
	const struct label_pair *v = names && names->given ? names->v : pyroscope_names;
	size_t n = names && names->given ? names->n
					 : sizeof(pyroscope_names) / sizeof(pyroscope_names[0]);

	for (size_t i = 0; i < n; i++)
		if (v[i].value.n && str_eq(v[i].name, type))
			return v[i].value;
	return type;
}

static bool contains(struct str s, struct str part)
{
	return str_search(s, part) < s.n;
}

static struct str family(struct str s)
{
	if (contains(s, STR("cpu")))
		return STR("process_cpu");
	if (contains(s, STR("alloc_")) || contains(s, STR("inuse_")) || str_eq(s, STR("space")) ||
	    str_eq(s, STR("objects")))
		return STR("memory");
	if (contains(s, STR("mutex_")))
		return STR("mutex");
	if (contains(s, STR("block_")))
		return STR("block");
	if (contains(s, STR("goroutines")))
		return STR("goroutines");
	return (struct str){NULL, 0};
}

struct str type_name_of_pprof(const struct profile *p, const struct display_names *names)
{
	struct str type = {NULL, 0}, found;

	for (uint32_t i = 0; i < p->type_count; i++) {
		type = dict_str(p->dict, p->types[i].type);
		if (str_eq(type, STR("wall")))
			return type;
	}
	for (uint32_t i = 0; i < p->type_count; i++) {
		type = display_name(names, dict_str(p->dict, p->types[i].type));
		found = family(type);
		if (found.n)
			return found;
	}
	return type;
}

struct str type_name_of_column(const struct profile *p, uint32_t column)
{
	struct type_words w = type_words_of(p, column);
	const struct profile_type *known = type_by_value(w.type, w.unit);
	struct str id = known ? str_of(known->pyroscope) : STR(""), name;

	/* Sample counts are named after their period; cpu is process_cpu. */
	if (str_eq(w.type, STR("samples")) && w.period_type.n)
		return str_eq(w.period_type, STR("cpu")) ? STR("process_cpu") : w.period_type;
	if (known)
		return str_n(id.p, str_find(id, ':'));
	if (w.period_type.n)
		return w.period_type;
	name = family(w.type);
	return name.n ? name : STR("process_cpu");
}

/* The meaning of a sample count depends on its period. */
static const struct profile_type *usual_type(const struct type_words *w)
{
	const struct profile_type *known = type_by_value(w->type, w->unit);

	return known && !w->period_type.n && !w->period_unit.n &&
			       !str_eq(w->type, STR("samples")) &&
			       str_eq(w->unit, str_of(known->unit))
		       ? known
		       : NULL;
}

enum err type_id_of_column(struct arena *a, const struct profile *p, uint32_t column,
			   struct str *ret)
{
	struct type_words words = type_words_of(p, column);
	const struct profile_type *usual = usual_type(&words);
	const char *marked;

	words.name = type_name_of_column(p, column);
	if (usual)
		*ret = str_of(usual->pyroscope);
	else
		TRY(type_id_make(a, &words, ret));
	if (!(p->derived >> column & 1))
		return ERR_OK;
	marked = arena_printf(a, "%.*s" TYPE_DERIVED, (int)ret->n, ret->p);
	if (!marked)
		return ERR_NO_MEMORY;
	*ret = str_of(marked);
	return ERR_OK;
}
