/* Pyroscope's tree format, which its own tools ask for instead of levels. */
#include "base/alloc.h"
#include "query/flamebearer.h"
#include "query/tree_children.h"

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_byte(out, (unsigned char)(value | 0x80));
	buf_byte(out, (unsigned char)value);
}

static void put_node(const struct tree *t, uint32_t node, uint32_t children, struct buf *name,
		     struct buf *out)
{
	uint32_t frame = t->nodes.v[node].frame;
	int64_t self = t->self[node];

	buf_clear(name);
	if (node && frame == TREE_PRUNED)
		buf_text(name, "other");
	else if (node)
		frame_label(t->dict, frame, name);
	put_varint(out, name->n);
	buf_str(out, buf_view(name));
	put_varint(out, self > 0 ? (uint64_t)self : 0);
	put_varint(out, children);
}

static enum err walk(const struct tree *t, const struct tree_children *children, uint32_t *pending,
		     struct buf *name, struct buf *out)
{
	uint32_t n = 0;

	pending[n++] = 0;
	while (n) {
		uint32_t node = pending[--n];

		put_node(t, node, children->count[node], name, out);
		for (uint32_t i = children->count[node]; i-- > 0;)
			pending[n++] = children->first[node] + i;
	}
	TRY(buf_error(name));
	return buf_error(out);
}

enum err flame_tree_bytes(const struct tree *t, struct buf *out)
{
	CLEANUP(mem_free_ptr) uint32_t *pending = mem_zalloc(t->nodes.n + 1, sizeof(*pending));
	CLEANUP(tree_children_release) struct tree_children children = {0};
	struct buf name = BUF_INIT((size_t)1 << 20);
	enum err error;

	if (!pending)
		return ERR_NO_MEMORY;
	TRY(tree_children_find(t, &children));
	error = walk(t, &children, pending, &name, out);
	buf_release(&name);
	return error;
}
