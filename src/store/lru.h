/*
 * Private to src/store: objects that may be freed, in order of last use. An intrusive list: all
 * operations take constant time and cannot fail.
 */
#pragma once

#include <stddef.h>

struct lru_node {
	struct lru_node *older, *newer; /* NULL, NULL: not in a list */
};

/* A ring: `newer` of the list head is the oldest. All zero until lru_init. */
struct lru {
	struct lru_node ring;
};

static inline void lru_init(struct lru *l)
{
	l->ring.older = l->ring.newer = &l->ring;
}

/* Does nothing if it is not in a list. */
static inline void lru_remove(struct lru_node *node)
{
	if (!node->newer)
		return;
	node->older->newer = node->newer;
	node->newer->older = node->older;
	node->older = node->newer = NULL;
}

/* Makes it the newest. */
static inline void lru_touch(struct lru *l, struct lru_node *node)
{
	lru_remove(node);
	node->older = l->ring.older;
	node->newer = &l->ring;
	l->ring.older->newer = node;
	l->ring.older = node;
}

/* NULL if the list is empty. */
static inline struct lru_node *lru_oldest(const struct lru *l)
{
	return l->ring.newer == &l->ring ? NULL : l->ring.newer;
}

#define lru_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))
