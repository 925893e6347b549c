/*
 * The branches of a tree, one level after the other. A branch owns a range of the distinct stacks;
 * looking into it groups the range by the next frame, so that every child owns a range again.
 */
#include <math.h>

#include "base/work_scope.h"
#include "model/tree_builder.h"

#define NO_GROUP UINT32_MAX /* of a stack that ends */

/* The distinct stacks that have a value, in the order of their ids. */
static void fill_items(struct tree_builder *b)
{
	const struct sequence *stacks = b->dict->stacks.entries.v;

	for (uint32_t s = 0; s < b->sums->stacks; s++) {
		uint32_t n = stacks[s].n, at = stacks[s].at;

		if (!stack_sums_any(b->sums, s))
			continue;
		if (!b->inverted && n)
			at += n - 1;
		b->items[b->item_count++] = (struct item){at, n, s};
	}
}

static enum err find_group(struct tree_builder *b, uint32_t key, uint32_t *ret)
{
	struct slot *slot = &b->slots[key];
	struct group fresh = {.key = key};
	size_t sums = (size_t)b->sums->columns * 2;

	if (slot->stamp != b->stamp) {
		*slot = (struct slot){b->stamp, (uint32_t)b->groups.n};
		TRY(vec_reserve(&b->group_sums, sums));
		TRY(vec_push(&b->groups, fresh));
		memset(b->group_sums.v + b->group_sums.n, 0, sums * sizeof(int64_t));
		b->group_sums.n += sums;
	}
	*ret = slot->group;
	return ERR_OK;
}

static int64_t magnitude(int64_t value)
{
	return value < 0 ? value_negate(value) : value;
}

static void add_to_group(struct tree_builder *b, uint32_t group, const struct item *item)
{
	uint32_t columns = b->sums->columns;
	int64_t *sums = b->group_sums.v + (size_t)group * columns * 2;
	const int64_t *values = builder_values(b, item);

	b->groups.v[group].count++;
	for (uint32_t c = 0; c < columns; c++) {
		sums[c] = value_add(sums[c], values[c]);
		sums[columns + c] = value_add(sums[columns + c], magnitude(values[c]));
	}
}

/* Groups the stacks of a branch, with the sums of each group. */
static enum err group_stacks(struct tree_builder *b, struct branch *p)
{
	b->groups.n = b->group_sums.n = 0;
	b->stamp++;
	for (uint32_t i = p->begin; i < p->end; i++) {
		const struct item *item = &b->items[i];
		uint32_t group = NO_GROUP;

		if (item->n == p->depth) {
			p->ended++;
		} else {
			TRY(find_group(b, builder_next_key(b, item, p->depth), &group));
			add_to_group(b, group, item);
		}
		b->group_of[i] = group;
	}
	return ERR_OK;
}

/* The largest share over the columns: large enough in one is large enough. */
static double largest_share(const struct tree_builder *b, const int64_t *magnitudes)
{
	double largest = 0;

	for (uint32_t c = 0; c < b->sums->columns; c++)
		if (b->totals[c] > 0 && (double)magnitudes[c] / b->totals[c] > largest)
			largest = (double)magnitudes[c] / b->totals[c];
	return largest;
}

/* Moves the stacks of kept groups together, after those that end. */
static void move_stacks(struct tree_builder *b, const struct branch *p)
{
	uint32_t ended = p->begin, at = p->begin + p->ended;

	vec_for_each (group, &b->groups) {
		group->at = at;
		at += group->kept ? group->count : 0;
	}
	for (uint32_t i = p->begin; i < p->end; i++) {
		uint32_t g = b->group_of[i];

		if (g == NO_GROUP)
			b->sorted[ended++] = b->items[i];
		else if (b->groups.v[g].kept)
			b->sorted[b->groups.v[g].at++] = b->items[i];
	}
	memcpy(b->items + p->begin, b->sorted + p->begin, (at - p->begin) * sizeof(*b->items));
}

/* The groups that are too small, as one. */
static void add_rest(struct tree_builder *b, struct branch *p, uint32_t dropped)
{
	struct branch rest = {.key = BRANCH_REST, .count = dropped};
	uint32_t sums = b->sums->columns * 2;
	int64_t *sum = b->branch_sums.v + b->branch_sums.n;

	memset(sum, 0, sums * sizeof(*sum));
	for (size_t g = 0; g < b->groups.n; g++)
		for (uint32_t i = 0; !b->groups.v[g].kept && i < sums; i++)
			sum[i] = value_add(sum[i], b->group_sums.v[g * sums + i]);
	b->branch_sums.n += sums;
	b->branches.v[b->branches.n++] = rest;
	p->least = 0;
	p->count++;
}

/* Groups become children. There is room for them. */
static void add_children(struct tree_builder *b, struct branch *p)
{
	uint32_t sums = b->sums->columns * 2, at = p->begin + p->ended, dropped = 0;

	for (size_t g = 0; g < b->groups.n; g++) {
		const struct group *group = &b->groups.v[g];
		struct branch child = {.share = group->share,
				       .least = INFINITY,
				       .key = group->key,
				       .depth = p->depth + 1,
				       .begin = at};

		if (!group->kept) {
			dropped++;
			continue;
		}
		child.end = at += group->count;
		memcpy(b->branch_sums.v + b->branch_sums.n, b->group_sums.v + g * sums,
		       sums * sizeof(int64_t));
		b->branch_sums.n += sums;
		b->branches.v[b->branches.n++] = child;
		p->count++;
		if (group->share < p->least)
			p->least = group->share;
	}
	if (dropped)
		add_rest(b, p, dropped);
}

static enum err expand(struct tree_builder *b, size_t index)
{
	struct branch p = b->branches.v[index];

	TRY(group_stacks(b, &p));
	for (size_t g = 0; g < b->groups.n; g++) {
		struct group *group = &b->groups.v[g];

		group->share = largest_share(b, b->group_sums.v + (2 * g + 1) * b->sums->columns);
		group->kept = !(group->share < b->min_share);
	}
	move_stacks(b, &p);
	TRY(vec_reserve(&b->branches, b->groups.n + 1));
	TRY(vec_reserve(&b->branch_sums, (b->groups.n + 1) * b->sums->columns * 2));
	p.first = (uint32_t)b->branches.n;
	add_children(b, &p);
	b->branches.v[index] = p;
	return ERR_OK;
}

/* Whether all stacks of a branch go on with the same frame. */
static bool goes_one_way(const struct tree_builder *b, const struct branch *p, uint32_t *ret_key)
{
	uint32_t key;

	if (p->begin == p->end || b->items[p->begin].n == p->depth)
		return false;
	key = builder_next_key(b, &b->items[p->begin], p->depth);
	for (uint32_t i = p->begin + 1; i < p->end; i++)
		if (b->items[i].n == p->depth || builder_next_key(b, &b->items[i], p->depth) != key)
			return false;
	*ret_key = key;
	return true;
}

/* An only child that is as large as its parent. */
static enum err extend(struct tree_builder *b, size_t index, uint32_t key)
{
	uint32_t sums = b->sums->columns * 2;
	struct branch *p, child = b->branches.v[index];

	child.key = key;
	child.depth++;
	TRY(vec_reserve(&b->branch_sums, sums));
	TRY(vec_push(&b->branches, child));
	p = &b->branches.v[index];
	p->first = (uint32_t)b->branches.n - 1;
	p->count = 1;
	p->least = p->share;
	memcpy(b->branch_sums.v + b->branch_sums.n, builder_sums(b, index), sums * sizeof(int64_t));
	b->branch_sums.n += sums;
	return ERR_OK;
}

static enum err look_into(struct tree_builder *b, size_t index)
{
	const struct branch *p = &b->branches.v[index];
	uint32_t key;

	if (p->key == BRANCH_REST || branch_is_chain(p) || p->share < b->min_share)
		return ERR_OK;
	if (index && goes_one_way(b, p, &key))
		return extend(b, index, key);
	return expand(b, index);
}

enum err builder_find_branches(struct tree_builder *b)
{
	struct branch root = {.share = INFINITY, .least = INFINITY};
	uint32_t sums = b->sums->columns * 2;
	size_t enough = (size_t)b->max_nodes * 4;

	fill_items(b);
	root.end = (uint32_t)b->item_count;
	TRY(vec_reserve(&b->branch_sums, sums));
	TRY(vec_push(&b->branches, root));
	memset(b->branch_sums.v, 0, sums * sizeof(int64_t));
	b->branch_sums.n = sums;
	for (; b->expanded < b->branches.n; b->expanded++) {
		if (work_stopped_at(b->expanded))
			return ERR_CANCELLED;
		TRY(look_into(b, b->expanded));
		if (!b->max_nodes || b->branches.n <= enough)
			continue;
		TRY(builder_raise_threshold(b));
		enough = b->branches.n * 2;
	}
	return b->max_nodes ? builder_raise_threshold(b) : ERR_OK;
}
