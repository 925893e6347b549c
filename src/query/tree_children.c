#include "query/tree_children.h"

#include "base/alloc.h"

enum err tree_children_find(const struct tree *t, struct tree_children *ret)
{
	ret->first = mem_zalloc(t->nodes.n + 1, sizeof(*ret->first));
	ret->count = mem_zalloc(t->nodes.n + 1, sizeof(*ret->count));
	if (!ret->first || !ret->count)
		return ERR_NO_MEMORY;
	for (uint32_t i = 1; i < t->nodes.n; i++)
		if (!ret->count[t->nodes.v[i].parent]++)
			ret->first[t->nodes.v[i].parent] = i;
	return ERR_OK;
}

void tree_children_release(struct tree_children *c)
{
	mem_free(c->first);
	mem_free(c->count);
}
