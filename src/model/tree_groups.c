#include <math.h>

#include "model/tree_builder.h"

void builder_fill(struct tree_builder *b)
{
	const struct sequence *stacks = b->dict->stacks.entries.v;

	b->item_count = 0;
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
		memset(b->group_sums.v + b->group_sums.n, 0, sums * sizeof(double));
		b->group_sums.n += sums;
	}
	*ret = slot->group;
	return ERR_OK;
}

static void add_to_group(struct tree_builder *b, uint32_t group, const struct item *item)
{
	uint32_t columns = b->sums->columns;
	double *sums = b->group_sums.v + (size_t)group * columns * 2;
	const int64_t *values = builder_values(b, item);

	b->groups.v[group].count++;
	for (uint32_t c = 0; c < columns; c++) {
		sums[c] += (double)values[c];
		sums[columns + c] += fabs((double)values[c]);
	}
}

enum err builder_group(struct tree_builder *b, const struct pending *p)
{
	uint32_t depth = p->depth, group;

	b->groups.n = b->group_sums.n = 0;
	b->stamp++;
	for (uint32_t i = p->begin; i < p->end; i++) {
		if (b->items[i].n == depth) {
			if (!b->counting)
				builder_add_self(b, p->node, &b->items[i]);
			continue;
		}
		TRY(find_group(b, builder_next_key(b, &b->items[i], depth), &group));
		add_to_group(b, group, &b->items[i]);
	}
	return ERR_OK;
}

/* The largest share over the columns: large enough in one is large enough. */
static double largest_share(const struct tree_builder *b, const double *magnitudes)
{
	double largest = 0;

	for (uint32_t c = 0; c < b->sums->columns; c++)
		if (b->totals[c] > 0 && magnitudes[c] / b->totals[c] > largest)
			largest = magnitudes[c] / b->totals[c];
	return largest;
}

uint32_t builder_judge(struct tree_builder *b)
{
	uint32_t columns = b->sums->columns, dropped = 0;

	memset(b->left_out, 0, columns * sizeof(*b->left_out));
	for (size_t g = 0; g < b->groups.n; g++) {
		const double *sums = b->group_sums.v + g * columns * 2;
		struct group *group = &b->groups.v[g];

		group->share = largest_share(b, sums + columns);
		group->kept = !(group->share < b->min_share);
		if (group->kept)
			continue;
		dropped++;
		for (uint32_t c = 0; c < columns; c++) {
			b->left_out[c] += sums[c];
			b->pruned[c] += sums[columns + c];
		}
	}
	return dropped;
}

void builder_move(struct tree_builder *b, const struct pending *p)
{
	uint32_t depth = p->depth, at = p->begin;

	for (size_t g = 0; g < b->groups.n; g++) {
		struct group *group = &b->groups.v[g];

		b->slots[group->key].group = (uint32_t)g;
		group->at = at;
		at += group->kept ? group->count : 0;
	}
	for (uint32_t i = p->begin; i < p->end; i++) {
		struct group *group;

		if (b->items[i].n == depth)
			continue;
		group = &b->groups.v[b->slots[builder_next_key(b, &b->items[i], depth)].group];
		if (group->kept)
			b->sorted[group->at++] = b->items[i];
	}
	memcpy(b->items + p->begin, b->sorted + p->begin, (at - p->begin) * sizeof(*b->items));
}
