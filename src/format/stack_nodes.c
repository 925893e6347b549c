#include "format/stack_nodes.h"

#include "base/hash.h"

enum err stack_nodes_init(struct stack_nodes *n, uint64_t seed)
{
	*n = (struct stack_nodes){.seed = seed};
	return vec_push(&n->list, (struct stack_node){0});
}

void stack_nodes_release(struct stack_nodes *n)
{
	if (!n)
		return;
	vec_release(&n->list);
	vec_release(&n->path);
	map_release(&n->children);
}

enum err stack_nodes_add(struct stack_nodes *n, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t id = (uint32_t)n->list.n;

	if (n->list.n >= UINT32_MAX - 1)
		return ERR_TABLE_FULL;
	TRY(vec_push(&n->list, ((struct stack_node){.parent = parent, .frame = frame})));
	*ret = id;
	return ERR_OK;
}

enum err stack_nodes_child(struct stack_nodes *n, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t hash = hash_mix(((uint64_t)parent << 32 | frame) ^ n->seed, n->seed);

	MAP_PROBE(&n->children, hash, id)
	{
		if (n->list.v[id].parent == parent && n->list.v[id].frame == frame) {
			*ret = id;
			return ERR_OK;
		}
	}
	TRY(stack_nodes_add(n, parent, frame, ret));
	return map_put(&n->children, hash, *ret);
}

void stack_nodes_count(struct stack_nodes *n, uint32_t node, unsigned value, int64_t amount)
{
	int64_t *at = &n->list.v[node].values[value];

	n->list.v[node].used = true;
	if (__builtin_add_overflow(*at, amount, at))
		*at = amount < 0 ? INT64_MIN : INT64_MAX;
}

enum err stack_nodes_check(const struct stack_nodes *n, uint32_t *ret_node)
{
	uint32_t *seen = mem_zalloc(n->list.n, sizeof(*seen)); /* 0, or the walk that came by */
	enum err e = ERR_OK;

	if (!seen)
		return ERR_NO_MEMORY;
	for (uint32_t start = 1; start < n->list.n && !e; start++) {
		uint32_t node = start;

		while (node && !seen[node]) {
			seen[node] = start;
			node = n->list.v[node].parent;
		}
		/* Came back to where this very walk has been: a circle. */
		if (node && seen[node] == start) {
			*ret_node = node;
			e = ERR_CORRUPT;
		}
	}
	mem_free(seen);
	return e;
}

enum err stack_nodes_stack(struct stack_nodes *n, uint32_t node, struct reading *out, uint32_t *ret)
{
	uint32_t steps = 0;

	n->path.n = 0;
	for (; node; node = n->list.v[node].parent) {
		/* Nodes without a frame count too: walking them costs as much. */
		if (steps++ >= out->limits.max_depth)
			return fault_set(&out->fault, ERR_TOO_DEEP,
					 "a stack has more than %u frames", out->limits.max_depth);
		if (n->list.v[node].frame)
			TRY(vec_push(&n->path, n->list.v[node].frame));
	}
	n->frames += steps;
	if (n->frames > out->limits.max_entries)
		return fault_set(&out->fault, ERR_TOO_LARGE,
				 "the stacks have more than %llu frames in all",
				 (unsigned long long)out->limits.max_entries);
	return dict_stack(out->dict, n->path.v, (uint32_t)n->path.n, ret);
}

enum err stack_nodes_rows(struct stack_nodes *n, struct profile *p, uint32_t labels,
			  struct reading *out)
{
	for (uint32_t node = 0; node < n->list.n; node++) {
		struct row row = {.labels = labels};

		if (!n->list.v[node].used)
			continue;
		TRY(stack_nodes_stack(n, node, out, &row.stack));
		TRY(profile_add(p, &row, n->list.v[node].values));
	}
	return ERR_OK;
}
