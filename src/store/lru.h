/*
 * Private to src/store: things that may be let go, in the order of their last use. The list is in
 * the things themselves: taking one in, out, or the oldest takes the same few steps however many
 * there are, and cannot fail.
 */
#pragma once

#include <stddef.h>

struct lru_node {
	struct lru_node *older, *newer; /* NULL, NULL: in no list */
};

/* A ring: `newer` of the list itself is the oldest. All zero until lru_init. */
struct lru {
	struct lru_node ring;
};

static inline void lru_init(struct lru *l)
{
	l->ring.older = l->ring.newer = &l->ring;
}

/* Harmless for one that is in no list. */
static inline void lru_remove(struct lru_node *node)
{
	if (!node->newer)
		return;
	node->older->newer = node->newer;
	node->newer->older = node->older;
	node->older = node->newer = NULL;
}

/* It is now the newest. */
static inline void lru_touch(struct lru *l, struct lru_node *node)
{
	lru_remove(node);
	node->older = l->ring.older;
	node->newer = &l->ring;
	l->ring.older->newer = node;
	l->ring.older = node;
}

/* NULL when the list is empty. */
static inline struct lru_node *lru_oldest(const struct lru *l)
{
	return l->ring.newer == &l->ring ? NULL : l->ring.newer;
}

#define lru_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))
