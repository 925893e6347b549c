#include "pipeline/resource_labels.h"

/* The reader's prefix of scope attributes. */
#define SCOPE_PREFIX "otel.scope."

/* The text of a list with one plain entry, "[\"x\"]" or "[1]"; empty for everything else. */
static struct str only_entry(struct str json)
{
	struct str inner = json.n < 2 ? STR("") : str_n(json.p + 1, json.n - 2);

	if (json.n < 3 || json.p[0] != '[' || json.p[json.n - 1] != ']')
		return STR("");
	if (inner.n > 2 && inner.p[0] == '"' && inner.p[inner.n - 1] == '"') {
		inner = str_n(inner.p + 1, inner.n - 2);
		return str_find(inner, '"') == inner.n && str_find(inner, '\\') == inner.n
			       ? inner
			       : STR("");
	}
	for (size_t i = 0; i < inner.n; i++)
		if ((inner.p[i] < '0' || inner.p[i] > '9') && !(inner.p[i] == '-' && !i))
			return STR("");
	return inner;
}

static enum err value_text(const struct dict *d, const struct label *l, struct arena *arena,
			   struct str *ret)
{
	struct str text = {NULL, 0};
	char *copy;

	switch (l->type) {
	case LABEL_STRING:
		text = dict_str(d, (uint32_t)l->value);
		break;
	case LABEL_JSON:
		text = only_entry(dict_str(d, (uint32_t)l->value));
		break;
	case LABEL_INT:
		copy = arena_printf(arena, "%lld", (long long)l->value);
		*ret = str_of(copy);
		return copy ? ERR_OK : ERR_NO_MEMORY;
	case LABEL_BOOL:
		*ret = l->value ? STR("true") : STR("false");
		return ERR_OK;
	default:
		break;
	}
	*ret = text;
	if (!text.n)
		return ERR_OK;
	ret->p = arena_copy(arena, text);
	return ret->p ? ERR_OK : ERR_NO_MEMORY;
}

static enum err add_set(struct series_labels *labels, const struct dict *d, uint32_t set,
			struct str prefix, struct arena *arena, struct fault *fault)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &d->labels.v[items[i]];
		struct str name = dict_str(d, l->key), value;

		if (!str_starts(name, prefix))
			continue;
		name = str_skip(name, prefix.n);
		TRY(value_text(d, l, arena, &value));
		name.p = arena_copy(arena, name);
		if (!name.p)
			return ERR_NO_MEMORY;
		TRY(series_labels_add(labels, name, value, fault));
	}
	return ERR_OK;
}

static enum err add_service(struct series_labels *labels, const struct dict *d, uint32_t resource,
			    struct arena *arena, struct fault *fault)
{
	const struct label *service = label_find(d, resource, STR("service.name"));
	const struct label *program = label_find(d, resource, STR("process.executable.name"));
	struct str text = STR("");
	char *unknown;

	if (service)
		TRY(value_text(d, service, arena, &text));
	if (!text.n && program) {
		TRY(value_text(d, program, arena, &text));
		unknown = arena_printf(arena, UNKNOWN_SERVICE ":%.*s",
				       (int)(text.n < 1024 ? text.n : 1024), text.p ? text.p : "");
		if (!unknown)
			return ERR_NO_MEMORY;
		text = text.n ? str_of(unknown) : text;
	}
	return series_labels_add(labels, STR("service_name"), text.n ? text : STR(UNKNOWN_SERVICE),
				 fault);
}

enum err resource_labels_add(struct series_labels *labels, const struct profile *p,
			     struct arena *arena, struct fault *fault)
{
	TRY(add_service(labels, p->dict, p->resource, arena, fault));
	TRY(add_set(labels, p->dict, p->resource, STR(""), arena, fault));
	return add_set(labels, p->dict, p->attributes, STR(SCOPE_PREFIX), arena, fault);
}
