#include "format/v8_nodes.h"

#include "base/hash.h"

void v8_nodes_release(struct v8_nodes *n)
{
	if (!n)
		return;
	vec_release(&n->list);
	vec_release(&n->children);
	vec_release(&n->open);
	vec_release(&n->dense);
	map_release(&n->by_id);
}

/* The file chooses its ids: without the seed it could crowd them together. */
static uint64_t id_hash(const struct v8_nodes *n, int64_t id)
{
	return hash_mix((uint64_t)id ^ n->seed, n->seed);
}

uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id)
{
	if (n->dense.n)
		return id >= 0 && (size_t)id < n->dense.n ? n->dense.v[id] - 1 : MAP_NONE;
	MAP_PROBE(&n->by_id, id_hash(n, id), index)
	{
		if (n->list.v[index].id == id)
			return index;
	}
	return MAP_NONE;
}

static void take_string_id(struct json *j, struct dict *d, uint32_t *ret)
{
	struct str s = {NULL, 0};
	enum err e;

	if (!json_string(j, &s))
		return;
	e = dict_string(d, s, ret);
	if (e)
		json_fail(j, e, "%s", err_text(e));
}

/* V8 counts lines and columns from 0 and says -1 for none; we count from 1 and say 0. */
static void take_position(struct json *j, int64_t first, int64_t *ret)
{
	int64_t value = -1;

	if (json_i64(j, &value))
		*ret = value >= first && value < UINT32_MAX ? value - first + 1 : 0;
}

/* Name and place of a function, in "callFrame" or (older: lines from 1) in the node itself. */
static bool take_place(struct json *j, struct str key, int64_t first, struct v8_node *node,
		       struct dict *d)
{
	if (str_eq(key, STR("functionName")))
		take_string_id(j, d, &node->name);
	else if (str_eq(key, STR("url")))
		take_string_id(j, d, &node->url);
	else if (str_eq(key, STR("lineNumber")))
		take_position(j, first, &node->line);
	else if (str_eq(key, STR("columnNumber")))
		take_position(j, first, &node->column);
	else
		return false;
	return true;
}

static void take_call_frame(struct json *j, struct v8_node *node, struct dict *d)
{
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key))
		if (!take_place(j, key, 0, node, d))
			json_skip(j);
}

/* Every field of a node but "children", which the two shapes mean differently. */
static void take_field(struct json *j, struct str key, struct v8_node *node, struct dict *d)
{
	if (str_eq(key, STR("callFrame"))) {
		take_call_frame(j, node, d);
	} else if (str_eq(key, STR("id"))) {
		node->has_id = json_peek(j) == JSON_NUMBER;
		json_i64(j, &node->id);
	} else if (str_eq(key, STR("parent"))) {
		node->has_parent_id = json_peek(j) == JSON_NUMBER;
		json_i64(j, &node->parent_id);
	} else if (str_eq(key, STR("hitCount"))) {
		json_i64(j, &node->hits);
	} else if (str_eq(key, STR("selfSize"))) {
		json_i64(j, &node->self_size);
	} else if (!take_place(j, key, 1, node, d)) {
		json_skip(j);
	}
}

/* A new node at the cursor; its index + 1, or 0 when the walk has failed. */
static uint32_t begin_node(struct v8_nodes *n, struct json *j, uint32_t parent, struct reading *out)
{
	struct v8_node node = {.parent = parent, .offset = json_offset(j)};
	enum err e;

	if (!json_object(j)) {
		json_fail(j, ERR_CORRUPT, "expected a node, found null");
		return 0;
	}
	if (n->list.n >= out->limits.max_entries) {
		json_fail(j, ERR_TOO_LARGE, "more than %llu nodes",
			  (unsigned long long)out->limits.max_entries);
		return 0;
	}
	e = vec_push(&n->list, node);
	if (e)
		json_fail(j, e, "%s", err_text(e));
	return e ? 0 : (uint32_t)n->list.n;
}

static void take_child_ids(struct v8_nodes *n, struct json *j, uint32_t parent)
{
	if (!json_array(j))
		return;
	while (json_item(j)) {
		struct v8_child child = {.parent = parent, .offset = json_offset(j)};
		enum err e = ERR_OK;

		if (json_i64(j, &child.id))
			e = vec_push(&n->children, child);
		if (e)
			json_fail(j, e, "%s", err_text(e));
	}
}

void v8_nodes_flat(struct v8_nodes *n, struct json *j, struct reading *out)
{
	struct str key;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		uint32_t node = begin_node(n, j, 0, out);

		while (node && json_key(j, &key)) {
			if (str_eq(key, STR("children")))
				take_child_ids(n, j, node);
			else
				take_field(j, key, &n->list.v[node - 1], out->dict);
		}
	}
}

/* Steps into the next node of the array of children around the cursor, if there is one. */
static void next_nested(struct v8_nodes *n, struct json *j, uint32_t parent, struct reading *out)
{
	uint32_t node;
	enum err e = ERR_OK;

	if (!json_item(j))
		return;
	node = begin_node(n, j, parent, out);
	if (node)
		e = vec_push(&n->open, node);
	if (e)
		json_fail(j, e, "%s", err_text(e));
}

void v8_nodes_nested(struct v8_nodes *n, struct json *j, struct reading *out)
{
	uint32_t node = begin_node(n, j, 0, out);
	struct str key;

	n->open.n = 0;
	if (node && vec_push(&n->open, node) != ERR_OK)
		json_fail(j, ERR_NO_MEMORY, "out of memory");
	while (n->open.n && !j->error) {
		node = n->open.v[n->open.n - 1];
		if (json_key(j, &key)) {
			if (!str_eq(key, STR("children")))
				take_field(j, key, &n->list.v[node - 1], out->dict);
			else if (json_array(j))
				next_nested(n, j, node, out);
			continue;
		}
		/* This node is complete: we are in its parent's array of children again. */
		n->open.n--;
		if (n->open.n && !j->error)
			next_nested(n, j, n->open.v[n->open.n - 1], out);
	}
}

/* V8 numbers nodes from 1, so a plain array will nearly always do; a sample then costs one load. */
static enum err prepare_index(struct v8_nodes *n)
{
	int64_t limit = (int64_t)n->list.n * 4 + 1000;

	vec_for_each (node, &n->list)
		if (node->has_id && (node->id < 0 || node->id >= limit))
			return map_reserve(&n->by_id, (uint32_t)n->list.n);
	TRY(vec_reserve(&n->dense, (size_t)limit));
	n->dense.n = (size_t)limit;
	memset(n->dense.v, 0, n->dense.n * sizeof(*n->dense.v));
	return ERR_OK;
}

static enum err index_ids(struct v8_nodes *n, struct json *j)
{
	TRY(prepare_index(n));
	for (uint32_t i = 0; i < n->list.n; i++) {
		const struct v8_node *node = &n->list.v[i];
		uint32_t other;

		if (!node->has_id)
			continue;
		other = v8_nodes_find(n, node->id);
		if (other != MAP_NONE)
			return json_fail_at(j, node->offset, ERR_CORRUPT,
					    "two nodes have the id %lld, the other is at byte %zu",
					    (long long)node->id, n->list.v[other].offset);
		if (n->dense.n)
			n->dense.v[node->id] = i + 1;
		else
			TRY(map_put(&n->by_id, id_hash(n, node->id), i));
	}
	return ERR_OK;
}

static enum err find_parents(struct v8_nodes *n, struct json *j)
{
	vec_for_each (node, &n->list) {
		uint32_t parent;

		if (!node->has_parent_id)
			continue;
		parent = v8_nodes_find(n, node->parent_id);
		if (parent == MAP_NONE)
			return json_fail_at(j, node->offset, ERR_BAD_INDEX,
					    "the parent %lld of a node is not in the file",
					    (long long)node->parent_id);
		node->parent = parent + 1;
	}
	vec_for_each (child, &n->children) {
		uint32_t index = v8_nodes_find(n, child->id);

		if (index == MAP_NONE)
			return json_fail_at(j, child->offset, ERR_BAD_INDEX,
					    "the child %lld of a node is not in the file",
					    (long long)child->id);
		if (n->list.v[index].parent && n->list.v[index].parent != child->parent)
			return json_fail_at(j, child->offset, ERR_CORRUPT,
					    "node %lld is the child of two nodes",
					    (long long)child->id);
		n->list.v[index].parent = child->parent;
	}
	return ERR_OK;
}

/* The frame of a node; 0 for the root, which is no function. */
static enum err node_frame(const struct v8_node *node, struct dict *d, uint32_t *ret)
{
	struct function function = {
		.name = node->name, .file = node->url, .start_line = node->line};
	struct frame frame = {.line = node->line,
			      .column = (uint32_t)node->column,
			      .kind = KIND_V8JS,
			      .flags = FRAME_HAS_LINE};

	*ret = 0;
	if (str_eq(dict_str(d, node->name), STR("(root)")))
		return ERR_OK;
	if (!function.name)
		TRY(dict_string(d, STR("(anonymous)"), &function.name));
	TRY(dict_function(d, &function, &frame.function));
	return dict_frame(d, &frame, ret);
}

enum err v8_nodes_link(struct v8_nodes *n, struct json *j, struct reading *out,
		       struct stack_nodes *ret)
{
	uint32_t id, frame;
	enum err e;

	n->seed = out->dict->seed;
	TRY(index_ids(n, j));
	TRY(find_parents(n, j));
	vec_for_each (node, &n->list) {
		TRY(node_frame(node, out->dict, &frame));
		TRY(stack_nodes_add(ret, node->parent, frame, &id));
	}
	e = stack_nodes_check(ret, &id);
	if (e == ERR_CORRUPT)
		return json_fail_at(j, n->list.v[id - 1].offset, e,
				    "node %lld is its own ancestor: the tree has a cycle",
				    (long long)n->list.v[id - 1].id);
	return e;
}
