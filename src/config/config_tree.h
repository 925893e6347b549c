/*
 * Private to src/config: the file as a tree, in one arena.
 */
#pragma once

#include "base/arena.h"
#include "config/config.h"

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct config_node {
	enum node_kind kind;
	bool empty; /* "key:" without a value, or null */
	size_t line;
	struct str key;	  /* in a map */
	const char *text; /* after replacing variables */
	struct config_node *first, *next;
	size_t n; /* children */
};

struct config {
	struct arena arena;
	char *name;
	struct config_node *root; /* NULL = the file is empty */
};

/* "vestal.yaml line 7: …" */
enum err config_fail(const struct config *c, size_t line, struct fault *fault, const char *format,
		     ...) PRINTF_LIKE(4, 5) MUST_CHECK;
enum err config_tree_read(struct config *c, struct str yaml, struct fault *fault) MUST_CHECK;
/* Replaces ${NAME} and the like; the result is in the arena. */
enum err config_expand(struct config *c, struct str text, size_t line, const char **ret,
		       struct fault *fault) MUST_CHECK;
/* Stores the value of a node in the option's field. */
enum err config_store(struct config *c, const struct config_option *o,
		      const struct config_node *node, void *slot, struct fault *fault) MUST_CHECK;
/* Fills a struct from a map. `line` is where the map begins. */
enum err config_fill(struct config *c, const struct config_table *table,
		     const struct config_node *map, size_t line, void *values,
		     struct fault *fault) MUST_CHECK;
