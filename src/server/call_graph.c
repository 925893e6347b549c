#include "server/call_graph.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"

struct function_box {
	uint32_t frame;
	int64_t self, total;
	bool shown;
};

struct arrow {
	uint32_t from, to; /* functions */
	int64_t value;
};

/* Boxes are numbered by representative frame: nodes of the same function share it. */
struct graph {
	const struct tree *tree;
	uint32_t *box_of; /* frame -> box + 1 */
	VEC(struct function_box) boxes;
	VEC(struct arrow) arrows;
	struct map arrow_index;
};

static enum err find_box(struct graph *g, uint32_t frame, uint32_t *ret)
{
	if (!g->box_of[frame]) {
		TRY(vec_push(&g->boxes, ((struct function_box){.frame = frame})));
		g->box_of[frame] = (uint32_t)g->boxes.n;
	}
	*ret = g->box_of[frame] - 1;
	return ERR_OK;
}

/* Whether a node above is the same function: its total is counted there already. */
static bool recursive(const struct tree *t, uint32_t node)
{
	uint32_t frame = t->nodes.v[node].frame;

	for (uint32_t up = t->nodes.v[node].parent; up; up = t->nodes.v[up].parent)
		if (t->nodes.v[up].frame == frame)
			return true;
	return false;
}

static enum err add_arrow(struct graph *g, uint32_t from, uint32_t to, int64_t value)
{
	uint64_t key = hash_mix((uint64_t)from << 32 | to, 0x9e3779b97f4a7c15u);
	uint32_t known = map_get(&g->arrow_index, key);

	if (known != MAP_NONE) {
		g->arrows.v[known].value += value;
		return ERR_OK;
	}
	TRY(map_put(&g->arrow_index, key, (uint32_t)g->arrows.n));
	return vec_push(&g->arrows, ((struct arrow){from, to, value}));
}

static enum err add_node(struct graph *g, uint32_t node)
{
	const struct tree *t = g->tree;
	uint32_t box, caller, parent = t->nodes.v[node].parent;

	if (t->nodes.v[node].frame == TREE_PRUNED)
		return ERR_OK;
	TRY(find_box(g, t->nodes.v[node].frame, &box));
	g->boxes.v[box].self += t->self[node];
	if (!recursive(t, node))
		g->boxes.v[box].total += t->total[node];
	if (!parent)
		return ERR_OK;
	TRY(find_box(g, t->nodes.v[parent].frame, &caller));
	return add_arrow(g, caller, box, t->total[node]);
}

static int by_total(const void *a, const void *b)
{
	const struct function_box *const *x = a, *const *y = b;

	return (*x)->total < (*y)->total ? 1 : (*x)->total > (*y)->total ? -1 : 0;
}

static enum err choose(struct graph *g, size_t max_nodes)
{
	struct function_box **order = mem_zalloc(g->boxes.n + 1, sizeof(*order));

	if (!order)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < g->boxes.n; i++)
		order[i] = &g->boxes.v[i];
	qsort(order, g->boxes.n, sizeof(*order), by_total);
	for (size_t i = 0; i < g->boxes.n && i < max_nodes; i++)
		order[i]->shown = true;
	mem_free(order);
	return ERR_OK;
}

static void put_label(const struct dict *d, uint32_t frame, struct buf *name, struct buf *out)
{
	buf_clear(name);
	frame_label(d, frame, name);
	for (size_t i = 0; i < name->n; i++) {
		if (name->data[i] == '"' || name->data[i] == '\\')
			buf_byte(out, '\\');
		buf_byte(out, name->data[i] == '\n' ? ' ' : (unsigned char)name->data[i]);
	}
}

static enum err print(const struct graph *g, struct buf *out)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT((size_t)1 << 20);

	buf_text(out, "digraph \"profile\" {\nnode [shape=box fontname=\"sans-serif\"];\n");
	for (size_t i = 0; i < g->boxes.n; i++) {
		const struct function_box *b = &g->boxes.v[i];

		if (!b->shown)
			continue;
		buf_printf(out, "N%zu [label=\"", i);
		put_label(g->tree->dict, b->frame, &name, out);
		buf_printf(out, "\\n%lld of %lld\"];\n", (long long)b->self, (long long)b->total);
	}
	vec_for_each (a, &g->arrows)
		if (g->boxes.v[a->from].shown && g->boxes.v[a->to].shown)
			buf_printf(out, "N%u -> N%u [label=\"%lld\"];\n", a->from, a->to,
				   (long long)a->value);
	buf_text(out, "}\n");
	TRY(buf_error(&name));
	return buf_error(out);
}

static enum err build(struct graph *g, size_t max_nodes, struct buf *out)
{
	g->box_of = mem_zalloc(g->tree->dict->frames.n + 1, sizeof(*g->box_of));
	if (!g->box_of)
		return ERR_NO_MEMORY;
	for (uint32_t i = 1; i < g->tree->nodes.n; i++)
		TRY(add_node(g, i));
	TRY(choose(g, max_nodes));
	return print(g, out);
}

enum err call_graph_dot(const struct tree *tree, size_t max_nodes, struct buf *out)
{
	struct graph g = {.tree = tree};
	enum err error = tree->nodes.n > 1 ? build(&g, max_nodes, out) : ERR_OK;

	mem_free(g.box_of);
	vec_release(&g.boxes);
	vec_release(&g.arrows);
	map_release(&g.arrow_index);
	return error;
}
