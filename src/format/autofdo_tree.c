#include "format/autofdo.h"

#include <stdlib.h>

#include "base/hash.h"

void fdo_release(struct fdo *f)
{
	vec_release(&f->nodes);
	map_release(&f->node_index);
	vec_release(&f->lines);
	map_release(&f->line_index);
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static uint64_t key(const struct fdo *f, uint32_t a, uint32_t b, uint32_t c)
{
	return hash_mix(((uint64_t)a << 32 | b) ^ f->dict->seed, c);
}

enum err fdo_node(struct fdo *f, uint32_t parent, uint32_t offset, uint32_t name, uint32_t *ret)
{
	struct fdo_entry entry = {.parent = parent, .offset = offset, .name = name};
	uint64_t hash = key(f, parent, offset, name);

	MAP_PROBE(&f->node_index, hash, i)
	{
		const struct fdo_entry *e = &f->nodes.v[i];

		if (e->parent == parent && e->offset == offset && e->name == name) {
			*ret = i;
			return ERR_OK;
		}
	}
	if (f->nodes.n >= FDO_NONE)
		return ERR_TABLE_FULL;
	TRY(vec_reserve(&f->nodes, 1));
	TRY(map_put(&f->node_index, hash, (uint32_t)f->nodes.n));
	*ret = (uint32_t)f->nodes.n;
	f->nodes.v[f->nodes.n++] = entry;
	return ERR_OK;
}

enum err fdo_add_call(struct fdo *f, uint32_t node, uint32_t offset, uint32_t callee, int64_t count)
{
	struct fdo_line line = {node, offset, callee, count};
	uint64_t hash = key(f, node, offset, callee);

	MAP_PROBE(&f->line_index, hash, i)
	{
		struct fdo_line *l = &f->lines.v[i];

		if (l->node == node && l->offset == offset && l->callee == callee) {
			add(&l->count, count);
			return ERR_OK;
		}
	}
	if (f->lines.n >= FDO_NONE)
		return ERR_TABLE_FULL;
	TRY(vec_reserve(&f->lines, 1));
	TRY(map_put(&f->line_index, hash, (uint32_t)f->lines.n));
	f->lines.v[f->lines.n++] = line;
	return ERR_OK;
}

enum err fdo_add_samples(struct fdo *f, uint32_t node, uint32_t offset, int64_t count)
{
	add(&f->nodes.v[node].total, count);
	return fdo_add_call(f, node, offset, 0, count);
}

enum err fdo_add_head(struct fdo *f, uint32_t name, int64_t count)
{
	uint32_t node;

	TRY(fdo_node(f, FDO_NONE, 0, name, &node));
	add(&f->nodes.v[node].head, count);
	return ERR_OK;
}

/* Everything in the order it is printed, and where the parts of each node begin. */
struct fdo_order {
	struct fdo *f;
	uint32_t *roots;    /* functions */
	uint32_t *children; /* inlined calls, by parent */
	uint32_t root_count, child_count;
	uint32_t *first_child, *first_line; /* by node; one more at the end */
};

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_roots(const void *a, const void *b, void *context)
{
	const struct fdo *f = context;
	const struct fdo_entry *x = &f->nodes.v[*(const uint32_t *)a];
	const struct fdo_entry *y = &f->nodes.v[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return str_cmp(dict_str(f->dict, x->name), dict_str(f->dict, y->name));
}

static int compare_children(const void *a, const void *b, void *context)
{
	const struct fdo *f = context;
	const struct fdo_entry *x = &f->nodes.v[*(const uint32_t *)a];
	const struct fdo_entry *y = &f->nodes.v[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return compare_u32(x->parent, y->parent);
	if (x->offset != y->offset)
		return compare_u32(x->offset, y->offset);
	return str_cmp(dict_str(f->dict, x->name), dict_str(f->dict, y->name));
}

/* By line; its samples first, then the callees, the most called first. */
static int compare_lines(const void *a, const void *b, void *context)
{
	const struct fdo *f = context;
	const struct fdo_line *x = a, *y = b;

	if (x->node != y->node)
		return compare_u32(x->node, y->node);
	if (x->offset != y->offset)
		return compare_u32(x->offset, y->offset);
	if (!x->callee != !y->callee)
		return x->callee ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return str_cmp(dict_str(f->dict, x->callee), dict_str(f->dict, y->callee));
}

static void order_release(struct fdo_order *o)
{
	mem_free(o->roots);
	mem_free(o->children);
	mem_free(o->first_child);
	mem_free(o->first_line);
}

static enum err order_init(struct fdo_order *o, struct fdo *f)
{
	size_t n = f->nodes.n;

	*o = (struct fdo_order){.f = f};
	o->roots = mem_zalloc(n + 1, sizeof(uint32_t));
	o->children = mem_zalloc(n + 1, sizeof(uint32_t));
	o->first_child = mem_zalloc(n + 1, sizeof(uint32_t));
	o->first_line = mem_zalloc(n + 1, sizeof(uint32_t));
	return o->roots && o->children && o->first_child && o->first_line ? ERR_OK : ERR_NO_MEMORY;
}

static void sort_tree(struct fdo_order *o)
{
	struct fdo *f = o->f;
	uint32_t child = 0, line = 0;

	/* Children come after their parents, so one pass from the end sums them up. */
	for (size_t i = f->nodes.n; i-- > 0;)
		if (f->nodes.v[i].parent != FDO_NONE)
			add(&f->nodes.v[f->nodes.v[i].parent].total, f->nodes.v[i].total);
	for (uint32_t i = 0; i < f->nodes.n; i++) {
		if (f->nodes.v[i].parent == FDO_NONE)
			o->roots[o->root_count++] = i;
		else
			o->children[o->child_count++] = i;
	}
	qsort_r(o->roots, o->root_count, sizeof(uint32_t), compare_roots, f);
	qsort_r(o->children, o->child_count, sizeof(uint32_t), compare_children, f);
	if (f->lines.n)
		qsort_r(f->lines.v, f->lines.n, sizeof(*f->lines.v), compare_lines, f);
	for (uint32_t i = 0; i <= f->nodes.n; i++) {
		while (child < o->child_count && f->nodes.v[o->children[child]].parent < i)
			child++;
		while (line < f->lines.n && f->lines.v[line].node < i)
			line++;
		o->first_child[i] = child;
		o->first_line[i] = line;
	}
}

/* Blanks separate callees. */
static void put_name(struct fdo *f, uint32_t name, struct buf *out)
{
	struct str s = dict_str(f->dict, name);

	for (size_t i = 0; i < s.n; i++) {
		bool blank = (unsigned char)s.p[i] <= ' ';

		buf_byte(out, blank ? '_' : (unsigned char)s.p[i]);
		f->renamed |= blank;
	}
}

static void put_indent(struct buf *out, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_byte(out, ' ');
}

static void put_lines(const struct fdo_order *o, uint32_t node, unsigned depth, struct buf *out)
{
	struct fdo *f = o->f;

	for (uint32_t i = o->first_line[node]; i < o->first_line[node + 1];) {
		uint32_t offset = f->lines.v[i].offset;

		put_indent(out, depth);
		buf_u64(out, offset);
		buf_text(out, ": ");
		buf_i64(out, f->lines.v[i].callee ? 0 : f->lines.v[i].count);
		for (; i < o->first_line[node + 1] && f->lines.v[i].offset == offset; i++) {
			if (!f->lines.v[i].callee)
				continue;
			buf_byte(out, ' ');
			put_name(f, f->lines.v[i].callee, out);
			buf_byte(out, ':');
			buf_i64(out, f->lines.v[i].count);
		}
		buf_byte(out, '\n');
	}
}

/* Recursion ends: the writer takes no run of inlined frames longer than a few dozen. */
static void put_node(const struct fdo_order *o, uint32_t node, unsigned depth, struct buf *out)
{
	put_lines(o, node, depth, out);
	for (uint32_t i = o->first_child[node]; i < o->first_child[node + 1]; i++) {
		const struct fdo_entry *e = &o->f->nodes.v[o->children[i]];

		put_indent(out, depth);
		buf_u64(out, e->offset);
		buf_text(out, ": ");
		put_name(o->f, e->name, out);
		buf_byte(out, ':');
		buf_i64(out, e->total);
		buf_byte(out, '\n');
		put_node(o, o->children[i], depth + 1, out);
	}
}

enum err fdo_print(struct fdo *f, struct buf *out)
{
	struct fdo_order o;
	enum err e = order_init(&o, f);

	if (!e)
		sort_tree(&o);
	for (uint32_t i = 0; !e && i < o.root_count; i++) {
		const struct fdo_entry *root = &f->nodes.v[o.roots[i]];

		put_name(f, root->name, out);
		buf_byte(out, ':');
		buf_i64(out, root->total);
		buf_byte(out, ':');
		buf_i64(out, root->head);
		buf_byte(out, '\n');
		put_node(&o, o.roots[i], 1, out);
	}
	order_release(&o);
	return e ? e : buf_error(out);
}
