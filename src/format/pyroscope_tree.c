/*
 * tree and trie: a stack of nodes that still have children to come stands for the recursion.
 */
#include "format/pyroscope.h"
#include "format/text_util.h"

struct open_node {
	uint64_t children; /* still to come */
	size_t name;	   /* bytes of the trie's text it added */
	bool framed;	   /* it is a frame: the root of all is not */
};

struct tree_reader {
	struct pyroscope_rows rows;
	const uint8_t *p, *end, *start;
	VEC(struct open_node) open;
	VEC(uint32_t) path; /* frames, root first */
	VEC(uint32_t) leaf_first;
	struct text_memo frames;
	struct buf text; /* of the trie: the key so far */
	bool trie;
};

struct node {
	struct str name;
	uint64_t value, children;
};

static enum err cut(struct tree_reader *r)
{
	return fault_set(&r->rows.out->fault, ERR_TRUNCATED,
			 "a node extends beyond the end of the data, at byte %zu",
			 (size_t)(r->p - r->start));
}

static enum err read_node(struct tree_reader *r, struct node *ret)
{
	uint64_t length;

	if (!pb_varint(&r->p, r->end, &length) || length > (size_t)(r->end - r->p))
		return cut(r);
	ret->name = str_n(r->p, (size_t)length);
	r->p += length;
	if (!pb_varint(&r->p, r->end, &ret->value) || !pb_varint(&r->p, r->end, &ret->children))
		return cut(r);
	/* A child takes three bytes at least. */
	if (ret->children > (size_t)(r->end - r->p) / 3)
		return fault_set(&r->rows.out->fault, ERR_CORRUPT,
				 "a node claims %llu children, more than the data has bytes for",
				 (unsigned long long)ret->children);
	return ERR_OK;
}

static enum err open_node(struct tree_reader *r, const struct node *node, bool framed)
{
	struct open_node open = {node->children, node->name.n, framed};

	/* The root of all has no frame. */
	if (r->open.n > r->rows.out->limits.max_depth)
		return fault_set(&r->rows.out->fault, ERR_TOO_DEEP,
				 "nodes are nested deeper than %u levels",
				 r->rows.out->limits.max_depth);
	return vec_push(&r->open, open);
}

/* The node just read and all that end with it leave the path. */
static void close_nodes(struct tree_reader *r)
{
	while (r->open.n && !r->open.v[r->open.n - 1].children) {
		const struct open_node *last = &r->open.v[--r->open.n];

		if (r->trie)
			r->text.n -= last->name;
		else if (last->framed)
			r->path.n--;
		if (r->open.n)
			r->open.v[r->open.n - 1].children--;
	}
}

static enum err add_path(struct tree_reader *r, uint64_t value)
{
	size_t n = r->path.n;

	if (!value || !n)
		return ERR_OK;
	r->leaf_first.n = 0;
	TRY(vec_reserve(&r->leaf_first, n));
	for (size_t i = 0; i < n; i++)
		r->leaf_first.v[i] = r->path.v[n - 1 - i];
	return pyroscope_rows_add(&r->rows, r->leaf_first.v, n, value);
}

static enum err tree_node(struct tree_reader *r, const struct node *node)
{
	struct reading *out = r->rows.out;
	uint32_t frame;
	uint64_t hash;

	if (node->name.n) {
		frame = text_memo_get(&r->frames, out->dict, node->name, &hash);
		if (frame == MAP_NONE) {
			TRY(pyroscope_frame(out, node->name, &frame));
			TRY(text_memo_put(&r->frames, hash, node->name, frame));
		}
		TRY(vec_push(&r->path, frame));
	}
	TRY(add_path(r, node->value));
	return open_node(r, node, node->name.n != 0);
}

/* The key so far, taken apart from its end, because stacks are leaf first. */
static enum err add_key(struct tree_reader *r, uint64_t value)
{
	const struct limits *limits = &r->rows.out->limits;
	struct str key = buf_view(&r->text);
	uint32_t frame;

	TRY(pyroscope_rows_spend(&r->rows, key.n / 8));
	r->leaf_first.n = 0;
	while (key.n && r->leaf_first.n < limits->max_depth) {
		size_t at = str_rfind(key, ';');
		struct str name = at < key.n ? str_skip(key, at + 1) : key;

		if (name.n) {
			TRY(pyroscope_frame(r->rows.out, name, &frame));
			TRY(vec_push(&r->leaf_first, frame));
		}
		key.n = at < key.n ? at : 0;
	}
	if (!r->leaf_first.n)
		return ERR_OK;
	return pyroscope_rows_add(&r->rows, r->leaf_first.v, r->leaf_first.n, value);
}

static enum err trie_node(struct tree_reader *r, const struct node *node)
{
	buf_str(&r->text, node->name);
	if (r->text.error == ERR_TOO_LARGE)
		return fault_set(&r->rows.out->fault, ERR_TOO_LARGE,
				 "a key of the trie has more than %zu bytes", r->text.ceiling);
	TRY(buf_error(&r->text));
	if (node->value)
		TRY(add_key(r, node->value));
	return open_node(r, node, true);
}

static enum err read_nodes(struct tree_reader *r)
{
	struct node node;

	/* A trie may have nothing at all in it; a tree has its root. */
	while (r->p < r->end) {
		TRY(read_node(r, &node));
		TRY(r->trie ? trie_node(r, &node) : tree_node(r, &node));
		close_nodes(r);
		if (!r->open.n && !r->trie)
			break;
	}
	return r->open.n ? cut(r) : ERR_OK;
}

static enum err read_tree(struct str bytes, struct reading *out, bool trie)
{
	struct tree_reader r = {.trie = trie, .p = (const uint8_t *)bytes.p};
	enum err e = pyroscope_rows_init(&r.rows, out, bytes);

	r.start = r.p;
	r.end = bytes.n ? r.p + bytes.n : r.p;
	buf_init(&r.text, (size_t)1 << 20);
	if (!e)
		e = read_nodes(&r);
	pyroscope_rows_release(&r.rows);
	vec_release(&r.open);
	vec_release(&r.path);
	vec_release(&r.leaf_first);
	text_memo_release(&r.frames);
	buf_release(&r.text);
	return e;
}

enum err pyroscope_tree_read(struct str bytes, struct reading *out)
{
	return read_tree(bytes, out, false);
}

enum err pyroscope_trie_read(struct str bytes, struct reading *out)
{
	return read_tree(bytes, out, true);
}
