#include "format/vft.h"

/* The column of `p` that measures the same as column `type` of `like`, or -1. */
static int same_type(const struct profile *p, const struct profile *like, uint32_t type)
{
	for (uint32_t i = 0; i < p->type_count; i++)
		if (p->types[i].type == like->types[type].type &&
		    p->types[i].unit == like->types[type].unit)
			return (int)i;
	return -1;
}

static enum err choose_columns(const struct writing *in, struct picture *ret)
{
	const struct profile *p = in->list->v[0];

	for (uint32_t t = 0; t < p->type_count; t++) {
		int base;

		if (!in->baseline) {
			ret->columns[ret->column_count++] = (struct tree_column){p, t};
			continue;
		}
		base = same_type(in->baseline, p, t);
		if (base < 0)
			continue;
		ret->columns[ret->column_count++] =
			(struct tree_column){in->baseline, (uint32_t)base};
		ret->columns[ret->column_count++] = (struct tree_column){p, t};
	}
	return ret->column_count ? ERR_OK : ERR_NOT_FOUND;
}

enum err picture_build(const struct writing *in, uint32_t max_nodes, struct picture *ret)
{
	struct tree_options options = {
		.min_share = in->min_share > 0 || in->max_nodes ? in->min_share : PICTURE_MIN_SHARE,
		.max_nodes = max_nodes,
	};
	enum err e;

	*ret = (struct picture){0};
	TRY(choose_columns(in, ret));
	TRY(tree_build(ret->columns, ret->column_count, &options, &ret->tree));
	e = top_build(ret->columns, ret->column_count, 0, &ret->top);
	if (e)
		tree_release(&ret->tree);
	return e;
}

void picture_release(struct picture *p)
{
	tree_release(&p->tree);
	top_release(&p->top);
}

uint32_t picture_shown_column(const struct writing *in, const struct picture *p)
{
	int wanted = in->type >= 0 ? in->type : profile_default_type(in->list->v[0]);

	for (uint32_t c = 0; c < p->column_count; c++)
		if (p->columns[c].profile == in->list->v[0] && (int)p->columns[c].type == wanted)
			return c;
	return p->column_count - 1;
}
