/*
 * Converts values of the file.
 */
#include <strings.h>

#include "base/quantity.h"
#include "config/config_tree.h"

static enum err expected(const struct config *c, const struct config_option *o,
			 const struct config_node *node, const char *what, struct fault *fault)
{
	return config_fail(c, node->line, fault, "\"%.60s\" is no value for %s: expected %.150s",
			   node->text, o->path, what);
}

static bool bool_parse(const char *text, bool *ret)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};

	for (size_t i = 0; i < 6; i++)
		if (!strcasecmp(text, words[i])) {
			*ret = i & 1;
			return true;
		}
	return false;
}

static bool is_choice(const char *choices, struct str text)
{
	struct str rest = str_of(choices), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(word, text))
			return true;
	return false;
}

static bool in_range(const struct config_option *o, int64_t value)
{
	return o->min || o->max ? value >= o->min && value <= o->max : value >= 0;
}

static bool percent_parse(struct str text, double *ret)
{
	bool percent = str_ends(text, STR("%"));
	double value;

	if (percent)
		text = str_trim(str_n(text.p, text.n - 1));
	if (str_to_double(text, &value))
		return false;
	*ret = percent ? value / 100 : value;
	return *ret >= 0 && *ret <= 1;
}

static enum err store_number(const struct config *c, const struct config_option *o,
			     const struct config_node *node, int64_t *slot, struct fault *fault)
{
	bool duration = o->kind == CONFIG_DURATION;
	struct str text = str_of(node->text);
	int64_t value;

	if (duration ? duration_parse(text, &value, NULL) : str_to_i64(text, &value))
		return expected(c, o, node,
				duration ? "a time such as 10s, 15m or 14d" : "a whole number",
				fault);
	if (!in_range(o, value))
		return config_fail(c, node->line, fault, "%s for %s is too %s", node->text, o->path,
				   value < o->min || !o->max ? "small" : "large");
	*slot = value;
	return ERR_OK;
}

static enum err store_text(const struct config *c, const struct config_option *o,
			   const struct config_node *node, void *slot, struct fault *fault)
{
	struct str text = str_of(node->text);

	switch (o->kind) {
	case CONFIG_BOOL:
		return bool_parse(node->text, slot) ? ERR_OK
						    : expected(c, o, node, "true or false", fault);
	case CONFIG_INT:
	case CONFIG_DURATION:
		return store_number(c, o, node, slot, fault);
	case CONFIG_SIZE:
		return size_parse(text, slot)
			       ? expected(c, o, node, "a size such as 4096, 512KB or 2GB", fault)
			       : ERR_OK;
	case CONFIG_PERCENT:
		return percent_parse(text, slot)
			       ? ERR_OK
			       : expected(c, o, node, "a share such as 90%", fault);
	case CONFIG_CHOICE:
		if (!is_choice(o->choices, text))
			return expected(c, o, node, o->choices, fault);
		break;
	default:
		break;
	}
	*(const char **)slot = node->text;
	return ERR_OK;
}

/* A child of a list or map whose values are text. */
static enum err take_text(const struct config *c, const struct config_option *o,
			  const struct config_node *child, const char **ret, struct fault *fault)
{
	if (child->kind != NODE_TEXT || child->empty)
		return config_fail(c, child->line, fault, "%s accepts only strings", o->path);
	*ret = child->text;
	return ERR_OK;
}

static enum err store_list(struct config *c, const struct config_option *o,
			   const struct config_node *node, struct config_list *list,
			   struct fault *fault)
{
	const char **v = arena_zalloc(&c->arena, node->n, sizeof(*v));
	size_t n = 0;

	if (!v)
		return ERR_NO_MEMORY;
	for (const struct config_node *i = node->first; i; i = i->next)
		TRY(take_text(c, o, i, &v[n++], fault));
	*list = (struct config_list){v, n};
	return ERR_OK;
}

static enum err store_map(struct config *c, const struct config_option *o,
			  const struct config_node *node, struct config_map *map,
			  struct fault *fault)
{
	struct config_pair *v = arena_zalloc(&c->arena, node->n, sizeof(*v));
	size_t n = 0;

	if (!v)
		return ERR_NO_MEMORY;
	for (const struct config_node *i = node->first; i; i = i->next, n++) {
		v[n].name = i->key.p;
		TRY(take_text(c, o, i, &v[n].value, fault));
	}
	*map = (struct config_map){v, n};
	return ERR_OK;
}

static enum err store_items(struct config *c, const struct config_option *o,
			    const struct config_node *node, struct config_items *items,
			    struct fault *fault)
{
	const struct config_table *t = o->items;
	char *v = arena_zalloc(&c->arena, node->n, t->size), *at = v;

	if (!v)
		return ERR_NO_MEMORY;
	for (const struct config_node *i = node->first; i; i = i->next, at += t->size) {
		if (i->kind != NODE_MAP)
			return config_fail(c, i->line, fault, "an item of %s has keys and values",
					   o->path);
		if (t->defaults)
			t->defaults(at);
		TRY(config_fill(c, t, i, i->line, at, fault));
	}
	*items = (struct config_items){v, node->n};
	return ERR_OK;
}

enum err config_store(struct config *c, const struct config_option *o,
		      const struct config_node *node, void *slot, struct fault *fault)
{
	bool list = o->kind == CONFIG_LIST || o->kind == CONFIG_ITEMS, map = o->kind == CONFIG_MAP;
	enum node_kind wanted = list ? NODE_LIST : map ? NODE_MAP : NODE_TEXT;

	if (node->empty && (list || map))
		return ERR_OK;
	if (node->empty)
		return config_fail(c, node->line, fault, "%s has no value", o->path);
	if (node->kind != wanted)
		return config_fail(c, node->line, fault, "%s must be %s", o->path,
				   list	 ? "a list"
				   : map ? "keys and values"
					 : "one value");
	switch (o->kind) {
	case CONFIG_LIST:
		return store_list(c, o, node, slot, fault);
	case CONFIG_MAP:
		return store_map(c, o, node, slot, fault);
	case CONFIG_ITEMS:
		return store_items(c, o, node, slot, fault);
	default:
		return store_text(c, o, node, slot, fault);
	}
}
