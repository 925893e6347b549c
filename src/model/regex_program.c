/*
 * Trees to programs. A counted repeat is written out, so a{3,5} is aaa(a(a)?)?; the ceiling of
 * REGEX_MAX_PROGRAM instructions bounds what that, nested, can come to.
 */
#include "model/regex_internal.h"

static enum err emit(struct regex_program *g, struct regex_instruction i, uint32_t *ret_at)
{
	if (g->code.n >= REGEX_MAX_PROGRAM || g->ranges + i.range_count > REGEX_MAX_RANGES)
		return ERR_TOO_LARGE;
	g->ranges += i.range_count;
	*ret_at = (uint32_t)g->code.n;
	return vec_push(&g->code, i);
}

static enum err emit_node(struct regex_program *g, const struct regex_node *node);

static enum err emit_split(struct regex_program *g, uint32_t *ret_at)
{
	return emit(g, (struct regex_instruction){.op = RUN_SPLIT}, ret_at);
}

/* L1: split L2, L3; L2: node; jump L1; L3: */
static enum err emit_loop(struct regex_program *g, const struct regex_node *node)
{
	uint32_t split, jump;

	TRY(emit_split(g, &split));
	g->code.v[split].next = split + 1;
	TRY(emit_node(g, node));
	TRY(emit(g, (struct regex_instruction){.op = RUN_JUMP, .next = split}, &jump));
	g->code.v[split].other = jump + 1;
	return ERR_OK;
}

static enum err emit_repeat(struct regex_program *g, const struct regex_node *node)
{
	size_t first_split;

	for (int i = 0; i < node->min; i++)
		TRY(emit_node(g, node->left));
	if (node->max < 0)
		return emit_loop(g, node->left);
	first_split = g->code.n;
	/* Every optional turn begins with a split that may leave for the end, which is not known
	 * yet: they are chained through `other` and told at last. */
	uint32_t last = UINT32_MAX, split;

	for (int i = node->min; i < node->max; i++) {
		TRY(emit_split(g, &split));
		g->code.v[split].next = split + 1;
		g->code.v[split].other = last;
		last = split;
		TRY(emit_node(g, node->left));
	}
	while (last != UINT32_MAX && last >= first_split) {
		uint32_t before = g->code.v[last].other;

		g->code.v[last].other = (uint32_t)g->code.n;
		last = before;
	}
	return ERR_OK;
}

/* split L1, L2; L1: left; jump L3; L2: right; L3: */
static enum err emit_either(struct regex_program *g, const struct regex_node *node)
{
	uint32_t split, jump;

	TRY(emit_split(g, &split));
	g->code.v[split].next = split + 1;
	TRY(emit_node(g, node->left));
	TRY(emit(g, (struct regex_instruction){.op = RUN_JUMP}, &jump));
	g->code.v[split].other = jump + 1;
	TRY(emit_node(g, node->right));
	g->code.v[jump].next = (uint32_t)g->code.n;
	return ERR_OK;
}

static enum err emit_node(struct regex_program *g, const struct regex_node *node)
{
	struct regex_instruction i = {.next = (uint32_t)g->code.n + 1};
	uint32_t at;

	switch (node->kind) {
	case NODE_EMPTY:
		return ERR_OK;
	case NODE_RANGES:
		i.op = RUN_RANGES;
		i.ranges = node->ranges;
		i.range_count = node->range_count;
		i.negated = node->negated;
		return emit(g, i, &at);
	case NODE_ASSERT:
		i.op = RUN_ASSERT;
		i.assertion = node->assertion;
		return emit(g, i, &at);
	case NODE_CONCAT:
		TRY(emit_node(g, node->left));
		return emit_node(g, node->right);
	case NODE_EITHER:
		return emit_either(g, node);
	case NODE_REPEAT:
		return emit_repeat(g, node);
	}
	return ERR_INTERNAL;
}

enum err regex_compile(const struct regex_node *root, struct regex_program *ret,
		       struct fault *fault)
{
	uint32_t at;
	enum err error = emit_node(ret, root);

	if (error == ERR_OK)
		error = emit(ret, (struct regex_instruction){.op = RUN_MATCH}, &at);
	if (error == ERR_TOO_LARGE)
		return fault_set(fault, error,
				 "a regular expression is too large once its repeats are counted");
	return error;
}
