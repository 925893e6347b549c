/*
 * A map of the file against a table. Levels of the file that a path spells with dots are walked
 * into with what was spelled so far.
 */
#include "base/words.h"
#include "config/config_tree.h"

#define MAX_PATH    200
#define MAX_OPTIONS 64

struct filling {
	struct config *c;
	const struct config_table *table;
	char *values;
	uint64_t seen; /* options by their place in the table */
	struct fault *fault;
};

/* The next part of an option's path after `prefix` ("" or "cpu."); p == NULL if the option is
 * elsewhere. */
static struct str word_after(const struct config_option *o, struct str prefix)
{
	struct str rest = str_of(o->path);

	if (!str_starts(rest, prefix))
		return (struct str){NULL, 0};
	rest = str_skip(rest, prefix.n);
	rest.n = str_find(rest, '.');
	return rest;
}

static enum err unknown_key(struct filling *f, struct str prefix, const struct config_node *node)
{
	char words[MAX_OPTIONS][64];
	const char *list[MAX_OPTIONS], *near;
	size_t n = 0;
	int key = (int)(node->key.n < 60 ? node->key.n : 60);

	for (const struct config_option *o = f->table->options; o->path && n < MAX_OPTIONS; o++) {
		struct str word = word_after(o, prefix);

		if (!word.p || word.n >= sizeof(words[0]))
			continue;
		memcpy(words[n], word.p, word.n);
		words[n][word.n] = 0;
		list[n] = words[n];
		n++;
	}
	near = nearest_word(node->key, list, n);
	return config_fail(f->c, node->line, f->fault, "unknown key \"%.*s%.*s\"%s%s%s",
			   (int)prefix.n, prefix.p, key, node->key.p,
			   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static enum err fill_level(struct filling *f, struct str prefix, const struct config_node *map);

/* A key that is a level of some path. */
static enum err enter(struct filling *f, struct str prefix, const struct config_node *node)
{
	char path[MAX_PATH];

	if (node->empty)
		return ERR_OK;
	if (node->kind != NODE_MAP)
		return config_fail(f->c, node->line, f->fault, "%.*s%.*s has keys and values",
				   (int)prefix.n, prefix.p, (int)node->key.n, node->key.p);
	memcpy(path, prefix.p, prefix.n);
	memcpy(path + prefix.n, node->key.p, node->key.n);
	path[prefix.n + node->key.n] = '.';
	return fill_level(f, str_n(path, prefix.n + node->key.n + 1), node);
}

static enum err fill_key(struct filling *f, struct str prefix, const struct config_node *node)
{
	const struct config_option *options = f->table->options;

	if (prefix.n + node->key.n + 1 >= MAX_PATH)
		return unknown_key(f, prefix, node);
	for (size_t i = 0; options[i].path; i++) {
		const struct config_option *o = &options[i];
		struct str word = word_after(o, prefix);

		if (!word.p || !str_eq(word, node->key))
			continue;
		if (word.p[word.n] == '.')
			return enter(f, prefix, node);
		f->seen |= (uint64_t)1 << i;
		return config_store(f->c, o, node, f->values + o->at, f->fault);
	}
	return unknown_key(f, prefix, node);
}

static enum err fill_level(struct filling *f, struct str prefix, const struct config_node *map)
{
	for (const struct config_node *i = map->first; i; i = i->next)
		TRY(fill_key(f, prefix, i));
	return ERR_OK;
}

enum err config_fill(struct config *c, const struct config_table *table,
		     const struct config_node *map, size_t line, void *values, struct fault *fault)
{
	struct filling f = {c, table, values, 0, fault};

	if (table->line_at)
		*(size_t *)(void *)((char *)values + table->line_at) = line;
	if (map)
		TRY(fill_level(&f, STR(""), map));
	for (size_t i = 0; table->options[i].path; i++)
		if (table->options[i].required && !(f.seen >> i & 1))
			return config_fail(c, line, fault, "%s is missing", table->options[i].path);
	return ERR_OK;
}

enum err config_read(struct config *c, const struct config_table *table, void *values,
		     struct fault *fault)
{
	const struct config_node *root = c->root;

	if (root && root->empty)
		root = NULL;
	if (root && root->kind != NODE_MAP)
		return config_fail(c, root->line, fault, "the file has keys and values");
	return config_fill(c, table, root, 1, values, fault);
}

size_t config_line(const struct config *c, const char *path)
{
	struct str rest = str_of(path), part;
	const struct config_node *node = c->root;

	while (node && str_split(&rest, '.', &part)) {
		if (node->kind != NODE_MAP)
			return 0;
		for (node = node->first; node && !str_eq(node->key, part);)
			node = node->next;
	}
	return node ? node->line : 0;
}
