#include "pipeline/series_labels.h"

#define SERVICE_NAME STR("service_name")

void series_labels_init(struct series_labels *s, const struct receive_limits *limits)
{
	s->limits = limits;
	s->lenient = NULL;
	s->n = 0;
}

static struct label_pair *find(struct series_labels *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->v[i].name, name))
			return &s->v[i];
	return NULL;
}

struct str series_labels_get(const struct series_labels *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->v[i].name, name))
			return s->v[i].value;
	return (struct str){NULL, 0};
}

struct str series_labels_service(const struct series_labels *s)
{
	struct str service = series_labels_get(s, SERVICE_NAME);

	return service.n ? service : STR(UNKNOWN_SERVICE);
}

static int shown(struct str s)
{
	return (int)(s.n < 60 ? s.n : 60);
}

/* As much of a text as fits, whole code points. */
static struct str cut(struct str s, size_t n)
{
	if (s.n <= n)
		return s;
	while (n && (s.p[n] & 0xc0) == 0x80)
		n--;
	return str_n(s.p, n);
}

/* Whether the label is to be added; an error when it must be refused. */
static enum err check(struct series_labels *s, struct str name, struct str *value, bool *ret,
		      struct fault *fault)
{
	const struct receive_limits *l = s->limits;

	*ret = false;
	if (!utf8_valid(name) || !utf8_valid(*value)) {
		if (!s->lenient)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "a label or its value is not UTF-8");
		notes_add(s->lenient, "a label that is not UTF-8 was left out");
		return ERR_OK;
	}
	if (name.n > l->max_label_name) {
		if (!s->lenient)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "the label name %.*s… has %zu bytes, more than %u",
					 shown(name), name.p, name.n, l->max_label_name);
		notes_add(s->lenient, "a label with a name over %u bytes was left out",
			  l->max_label_name);
		return ERR_OK;
	}
	if (value->n > l->max_label_value) {
		if (!s->lenient)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "the value of label %.*s has %zu bytes, more than %u",
					 shown(name), name.p, value->n, l->max_label_value);
		notes_add(s->lenient, "a value over %u bytes was cut", l->max_label_value);
		*value = cut(*value, l->max_label_value);
	}
	*ret = true;
	return ERR_OK;
}

static size_t most(const struct series_labels *s)
{
	return s->limits->max_labels < SERIES_LABELS_MAX - 1 ? s->limits->max_labels
							     : SERIES_LABELS_MAX - 1;
}

static enum err append(struct series_labels *s, struct str name, struct str value,
		       struct fault *fault)
{
	/* The one that every series has finds room. */
	if (s->n >= most(s) && !str_eq(name, SERVICE_NAME)) {
		if (!s->lenient)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "the series has more than %zu labels", most(s));
		notes_add(s->lenient, "labels beyond the %zuth were left out", most(s));
		return ERR_OK;
	}
	s->v[s->n++] = (struct label_pair){name, value};
	return ERR_OK;
}

static enum err put(struct series_labels *s, struct str name, struct str value, bool replace,
		    struct fault *fault)
{
	struct label_pair *there;
	bool good;

	if (!name.n || !value.n || str_starts(name, STR("__")))
		return ERR_OK;
	there = find(s, name);
	if (there && !replace)
		return ERR_OK;
	TRY(check(s, name, &value, &good, fault));
	if (!good)
		return ERR_OK;
	if (!there)
		return append(s, name, value, fault);
	there->value = value;
	return ERR_OK;
}

enum err series_labels_add(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault)
{
	return put(s, name, value, false, fault);
}

enum err series_labels_set(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault)
{
	return put(s, name, value, true, fault);
}

enum err series_labels_finish(struct series_labels *s, struct fault *fault)
{
	TRY(series_labels_add(s, SERVICE_NAME, STR(UNKNOWN_SERVICE), fault));
	for (size_t i = 1; i < s->n; i++) {
		struct label_pair pair = s->v[i];
		size_t at = i;

		for (; at && str_cmp(s->v[at - 1].name, pair.name) > 0; at--)
			s->v[at] = s->v[at - 1];
		s->v[at] = pair;
	}
	return ERR_OK;
}
