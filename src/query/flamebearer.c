#include "base/alloc.h"
#include "base/vec.h"
#include "query/flamebearer.h"
#include "query/tree_children.h"

struct builder {
	const struct tree *tree;
	struct flamebearer *out;
	struct tree_children children;
	uint32_t *name_of; /* frame -> index of its name + 1 */
	uint32_t other;	   /* index of "other" + 1 */
	int64_t *x;	   /* [column][node]: where a box begins */
	VEC(struct str) names;
	int64_t *next; /* where the next box is written */
	struct buf text;
};

void flamebearer_release(struct flamebearer *f)
{
	arena_release(&f->arena);
}

static const int64_t *totals(const struct tree *t, uint32_t column)
{
	return t->total + (size_t)column * t->nodes.n;
}

static const int64_t *selves(const struct tree *t, uint32_t column)
{
	return t->self + (size_t)column * t->nodes.n;
}

static enum err add_name(struct builder *b, struct str name, uint32_t *ret)
{
	const char *copy = arena_copy(&b->out->arena, name);

	if (!copy)
		return ERR_NO_MEMORY;
	TRY(vec_push(&b->names, str_n(copy, name.n)));
	*ret = (uint32_t)b->names.n;
	return ERR_OK;
}

static enum err name_node(struct builder *b, uint32_t node, int64_t *ret)
{
	uint32_t frame = b->tree->nodes.v[node].frame;
	uint32_t *known = frame == TREE_PRUNED ? &b->other : &b->name_of[frame];

	*ret = 0;
	if (node == 0)
		return ERR_OK;
	if (!*known) {
		buf_clear(&b->text);
		if (frame == TREE_PRUNED)
			buf_text(&b->text, "other");
		else
			frame_label(b->tree->dict, frame, &b->text);
		TRY(buf_error(&b->text));
		TRY(add_name(b, buf_view(&b->text), known));
	}
	*ret = *known - 1;
	return ERR_OK;
}

/* Children begin after their parent's self time, as in Pyroscope. */
static void place_children(struct builder *b, uint32_t node)
{
	for (uint32_t c = 0; c < b->tree->columns; c++) {
		int64_t *x = b->x + (size_t)c * b->tree->nodes.n;
		int64_t at = x[node] + selves(b->tree, c)[node];

		for (uint32_t i = 0; i < b->children.count[node]; i++) {
			uint32_t child = b->children.first[node] + i;

			x[child] = at;
			at += totals(b->tree, c)[child];
		}
	}
}

static enum err add_box(struct builder *b, uint32_t node, int64_t *ends)
{
	int64_t name;

	for (uint32_t c = 0; c < b->tree->columns; c++) {
		int64_t x = b->x[(size_t)c * b->tree->nodes.n + node];
		int64_t total = totals(b->tree, c)[node];
		int64_t self = selves(b->tree, c)[node];

		*b->next++ = x - ends[c];
		*b->next++ = total;
		*b->next++ = self;
		ends[c] = x + total;
		if (self > b->out->max_self)
			b->out->max_self = self;
	}
	TRY(name_node(b, node, &name));
	*b->next++ = name;
	return ERR_OK;
}

/* One level after the other, boxes in the order of their parents. */
static enum err add_levels(struct builder *b, uint32_t *level, uint32_t *next)
{
	struct flamebearer *f = b->out;
	uint32_t n = 1;

	level[0] = 0;
	while (n) {
		int64_t ends[2] = {0, 0};
		uint32_t found = 0;

		f->begin[f->levels++] = (size_t)(b->next - f->values);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t node = level[i];

			place_children(b, node);
			TRY(add_box(b, node, ends));
			for (uint32_t k = 0; k < b->children.count[node]; k++)
				next[found++] = b->children.first[node] + k;
		}
		uint32_t *swap = level;

		level = next;
		next = swap;
		n = found;
	}
	f->begin[f->levels] = (size_t)(b->next - f->values);
	return ERR_OK;
}

/* Every node is a box, and as many levels as the deepest has. */
static enum err make_room(struct builder *b)
{
	size_t n = b->tree->nodes.n, columns = b->tree->columns, deepest = 0;
	struct flamebearer *f = b->out;

	for (size_t i = 0; i < n; i++)
		if (b->tree->nodes.v[i].depth > deepest)
			deepest = b->tree->nodes.v[i].depth;
	f->values = arena_alloc(&f->arena, n * (3 * columns + 1) * sizeof(*f->values));
	f->begin = arena_alloc(&f->arena, (deepest + 2) * sizeof(*f->begin));
	b->next = f->values;
	return f->values && f->begin ? ERR_OK : ERR_NO_MEMORY;
}

static enum err finish(struct builder *b)
{
	struct flamebearer *f = b->out;

	f->name_count = b->names.n;
	f->names = arena_alloc(&f->arena, b->names.n * sizeof(*b->names.v));
	if (!f->names)
		return ERR_NO_MEMORY;
	memcpy(f->names, b->names.v, b->names.n * sizeof(*b->names.v));
	f->left_total = totals(b->tree, 0)[0];
	f->right_total = b->tree->columns > 1 ? totals(b->tree, 1)[0] : 0;
	f->total = f->left_total + f->right_total;
	return ERR_OK;
}

static enum err build(struct builder *b)
{
	size_t n = b->tree->nodes.n;
	CLEANUP(mem_free_ptr) uint32_t *level = mem_zalloc(n + 1, sizeof(*level));
	CLEANUP(mem_free_ptr) uint32_t *next = mem_zalloc(n + 1, sizeof(*next));
	uint32_t total;

	b->x = mem_zalloc(n * b->tree->columns + 1, sizeof(*b->x));
	b->name_of = mem_zalloc(b->tree->dict->frames.n + 1, sizeof(*b->name_of));
	if (!level || !next || !b->x || !b->name_of)
		return ERR_NO_MEMORY;
	TRY(make_room(b));
	TRY(tree_children_find(b->tree, &b->children));
	TRY(add_name(b, STR("total"), &total));
	TRY(add_levels(b, level, next));
	return finish(b);
}

enum err flamebearer_build(const struct tree *tree, struct flamebearer *ret)
{
	struct flamebearer f = {0};
	struct builder b = {.tree = tree, .out = &f};
	enum err error;

	if (tree->columns < 1 || tree->columns > 2)
		return ERR_BAD_ARGUMENT;
	arena_init(&f.arena, 0);
	buf_init(&b.text, (size_t)1 << 20);
	error = build(&b);
	tree_children_release(&b.children);
	mem_free(b.name_of);
	mem_free(b.x);
	vec_release(&b.names);
	buf_release(&b.text);
	if (error != ERR_OK)
		flamebearer_release(&f);
	else
		*ret = f;
	return error;
}
