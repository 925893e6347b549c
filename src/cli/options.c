#include "cli/options.h"

#include <math.h>
#include <strings.h>

#include "base/clock.h"

bool option_takes_argument(const struct option *o)
{
	return o->kind != OPT_FLAG && o->kind != OPT_OFF;
}

static enum err real_parse(struct str text, double *ret)
{
	bool percent = str_ends(text, STR("%"));
	double value;

	if (percent)
		text.n--;
	if (str_to_double(text, &value) || !isfinite(value) || value < 0)
		return ERR_BAD_ARGUMENT;
	*ret = percent ? value / 100 : value;
	return ERR_OK;
}

static bool is_choice(const char *choices, struct str word)
{
	struct str rest = str_of(choices), part;

	while (str_split(&rest, ' ', &part))
		if (str_eq(part, word))
			return true;
	return false;
}

static enum err bad_value(const struct option *o, const char *value, const char *expected,
			  struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT, "--%s %s: expected %s", o->name, value, expected);
}

/* Stores a value according to its option. */
static enum err store(const struct option *o, char *group, const char *value, struct fault *fault)
{
	void *slot = group + o->at;
	int64_t number;

	switch (o->kind) {
	case OPT_FLAG:
	case OPT_OFF:
		*(bool *)slot = o->kind == OPT_FLAG;
		break;
	case OPT_TEXT:
		*(const char **)slot = value;
		break;
	case OPT_LIST:
		return vec_push((struct text_list *)slot, value);
	case OPT_NUMBER:
		if (str_to_i64(str_of(value), &number) || number < 0)
			return bad_value(o, value, "a number", fault);
		*(int64_t *)slot = number;
		break;
	case OPT_REAL:
		if (real_parse(str_of(value), slot))
			return bad_value(o, value, "a number such as 0.01 or 1%", fault);
		break;
	case OPT_SECONDS:
		if (duration_parse(str_of(value), &number, NULL))
			return bad_value(o, value, "a time such as 30, 1.5, 500ms or 2m", fault);
		*(double *)slot = (double)number / NS_PER_S;
		break;
	case OPT_SIZE:
		if (size_parse(str_of(value), slot))
			return bad_value(o, value, "a size such as 4096, 64K or 1G", fault);
		break;
	case OPT_CHOICE:
		if (!is_choice(o->choices, str_of(value)))
			return bad_value(o, value, o->choices, fault);
		*(const char **)slot = value;
		break;
	}
	return ERR_OK;
}

struct found {
	const struct option *option;
	size_t at; /* of its group */
};

static struct found find_long(const struct option_group *groups, struct str name)
{
	for (; groups->table; groups++)
		for (const struct option *o = groups->table; o->name; o++)
			if (str_eq(str_of(o->name), name))
				return (struct found){o, groups->at};
	return (struct found){0};
}

static struct found find_letter(const struct option_group *groups, char letter)
{
	for (; groups->table; groups++)
		for (const struct option *o = groups->table; o->name; o++)
			if (o->letter == letter)
				return (struct found){o, groups->at};
	return (struct found){0};
}

/* Option names of pprof, for users of pprof. */
static const char *from_pprof(struct str name)
{
	static const char *const words[][2] = {
		{"sample_index", "--type"},
		{"si", "--type"},
		{"nodecount", "--count"},
		{"tagfocus", "--tag"},
		{"show_from", "--show-from"},
		{"base", "vestal diff"},
		{"diff_base", "vestal diff"},
		{"http", "vestal flame"},
		{"web", "vestal flame"},
		{"svg", "vestal flame"},
		{"proto", "vestal convert"},
		{"raw", "vestal show"},
		{"output", "-o"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_eq(name, str_of(words[i][0])))
			return words[i][1];
	return NULL;
}

static enum err unknown_option(const struct option_group *groups, struct str name,
			       struct fault *fault)
{
	const char *names[96], *near = from_pprof(name);
	size_t n = 0;

	if (near)
		return fault_set(fault, ERR_BAD_ARGUMENT, "unknown option --%.*s (here it is %s)",
				 (int)name.n, name.p, near);
	for (; groups->table; groups++)
		for (const struct option *o = groups->table; o->name && n < 96; o++)
			names[n++] = o->name;
	near = nearest_word(name, names, n);
	if (near)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "unknown option --%.*s (did you mean --%s?)", (int)name.n, name.p,
				 near);
	return fault_set(fault, ERR_BAD_ARGUMENT, "unknown option --%.*s", (int)name.n, name.p);
}

/* The remaining argv. */
struct words {
	char **v;
	int n, at;
};

static enum err parse_long(const struct option_group *groups, void *values, struct words *w,
			   struct fault *fault)
{
	const char *word = w->v[w->at] + 2, *equals = strchr(word, '=');
	struct str name = equals ? str_n(word, (size_t)(equals - word)) : str_of(word);
	struct found f = find_long(groups, name);
	const char *value = equals ? equals + 1 : NULL;

	if (!f.option)
		return unknown_option(groups, name, fault);
	if (!option_takes_argument(f.option)) {
		if (equals)
			return fault_set(fault, ERR_BAD_ARGUMENT, "--%s takes no value",
					 f.option->name);
	} else if (!equals) {
		if (w->at + 1 >= w->n)
			return fault_set(fault, ERR_BAD_ARGUMENT, "--%s needs a value: --%s %s",
					 f.option->name, f.option->name, f.option->argument);
		value = w->v[++w->at];
	}
	return store(f.option, (char *)values + f.at, value, fault);
}

/* -focus=x is pprof's syntax; here it would be parsed as a group of short options. */
static enum err refuse_single_dash(const struct option_group *groups, const char *word,
				   struct fault *fault)
{
	struct str name = str_of(word + 1);

	name.n = str_find(name, '=');
	if (name.n > 1 && find_long(groups, name).option)
		return fault_set(fault, ERR_BAD_ARGUMENT, "-%.*s: did you mean --%.*s?",
				 (int)name.n, name.p, (int)name.n, name.p);
	if (name.n > 1 && from_pprof(name))
		return fault_set(fault, ERR_BAD_ARGUMENT, "unknown option -%.*s (here it is %s)",
				 (int)name.n, name.p, from_pprof(name));
	return ERR_OK;
}

static enum err parse_letters(const struct option_group *groups, void *values, struct words *w,
			      struct fault *fault)
{
	const char *word = w->v[w->at];

	TRY(refuse_single_dash(groups, word, fault));
	for (const char *p = word + 1; *p; p++) {
		struct found f = find_letter(groups, *p);
		const char *value = NULL;

		if (!f.option)
			return fault_set(fault, ERR_BAD_ARGUMENT, "unknown option -%c%s%s", *p,
					 p[1] || p > word + 1 ? " in " : "",
					 p[1] || p > word + 1 ? word : "");
		if (option_takes_argument(f.option)) {
			if (p[1])
				value = p + 1;
			else if (w->at + 1 < w->n)
				value = w->v[++w->at];
			else
				return fault_set(fault, ERR_BAD_ARGUMENT,
						 "-%c needs a value: -%c %s", *p, *p,
						 f.option->argument);
		}
		TRY(store(f.option, (char *)values + f.at, value, fault));
		if (value)
			break;
	}
	return ERR_OK;
}

enum err options_parse(const struct option_group *groups, void *values, int argc, char **argv,
		       struct text_list *arguments, struct fault *fault)
{
	struct words w = {.v = argv, .n = argc};
	bool only_arguments = false;

	for (; w.at < w.n; w.at++) {
		const char *word = w.v[w.at];

		if (only_arguments || word[0] != '-' || !word[1])
			TRY(vec_push(arguments, word));
		else if (strcmp(word, "--") == 0)
			only_arguments = true;
		else if (word[1] == '-')
			TRY(parse_long(groups, values, &w, fault));
		else
			TRY(parse_letters(groups, values, &w, fault));
	}
	TRY(vec_reserve(arguments, 1));
	arguments->v[arguments->n] = NULL;
	return ERR_OK;
}

void options_release(const struct option_group *groups, void *values)
{
	for (; groups->table; groups++) {
		for (const struct option *o = groups->table; o->name; o++) {
			char *slot = (char *)values + groups->at + o->at;

			if (o->kind == OPT_LIST)
				vec_release((struct text_list *)(void *)slot);
		}
	}
}
