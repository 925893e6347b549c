#include "store/group_lines.h"

#include "store/answer.h"

/* Series are numbered below this; the labels of a part are in the bits above. */
#define SERIES_BITS 28
/* With more grouped labels, all days of a series count. */
#define PART_LABELS 4

void group_lines_release(struct group_lines *g)
{
	vec_release(&g->lines);
	vec_release(&g->found);
}

void group_lines_begin(struct group_lines *g, const struct grouping *grouping, const struct dict *d)
{
	g->grouping = grouping;
	g->open = 0;
	for (size_t i = 0; !grouping_fits_rollups(grouping) && i < grouping->name_count && i < 64;
	     i++)
		if (samples_have(d, grouping->names[i]))
			g->open |= UINT64_C(1) << i;
	g->any_open |= g->open != 0;
}

static enum err make_room(struct group_lines *g, uint32_t line)
{
	while (g->lines.n <= line)
		TRY(vec_push(&g->lines, ((struct group_line){.next = NO_LINE})));
	return ERR_OK;
}

static uint32_t find_part(const struct group_lines *g, uint32_t line, uint64_t labels)
{
	while (line != NO_LINE && g->lines.v[line].labels != labels)
		line = g->lines.v[line].next;
	return line;
}

static enum err add_part(struct group_lines *g, struct coverage *c, uint32_t line, uint64_t labels)
{
	const struct coverage_line *whole = &c->lines.v[line];
	uint32_t part;

	TRY(coverage_line(c, whole->series | (uint32_t)labels << SERIES_BITS, whole->type,
			  whole->gauge, &part));
	TRY(make_room(g, part));
	g->lines.v[part] = (struct group_line){
		.own = g->lines.v[line].own, .labels = labels, .next = g->lines.v[line].next};
	g->lines.v[line].next = part;
	return ERR_OK;
}

enum err group_lines_series(struct group_lines *g, struct coverage *c, uint32_t line, uint32_t own)
{
	bool parts = g->grouping->name_count <= PART_LABELS &&
		     c->lines.v[line].series < 1u << SERIES_BITS;

	TRY(make_room(g, line));
	g->lines.v[line].own = own;
	g->lines.v[line].open |= g->open;
	for (uint64_t labels = g->open; parts && labels; labels = (labels - 1) & g->open)
		if (find_part(g, line, labels) == NO_LINE)
			TRY(add_part(g, c, line, labels));
	return ERR_OK;
}

uint32_t group_lines_part(const struct group_lines *g, uint32_t line)
{
	do
		line = g->lines.v[line].next;
	while (line != NO_LINE && g->lines.v[line].labels & ~g->open);
	return line;
}

bool group_lines_is_part(const struct group_lines *g, uint32_t line)
{
	return line < g->lines.n && g->lines.v[line].labels;
}

/* ------------------------------------------------------------------ lines of a group */

static const struct str *value_in(const struct label_tuple *tuple, struct str name)
{
	for (size_t i = 0; i < tuple->n; i++)
		if (str_eq(tuple->labels[i].name, name))
			return &tuple->labels[i].value;
	return NULL;
}

/* Whether samples of a series may be in a group, and by which labels of theirs: its own labels
 * decide, the others must be known. */
static bool may_be_in(const struct group_lines *g, const struct group_line *line, uint32_t group,
		      uint64_t *ret_labels)
{
	const struct label_tuple *own = &g->grouping->groups.v[line->own];
	const struct label_tuple *wanted = &g->grouping->groups.v[group];

	*ret_labels = 0;
	for (size_t i = 0; i < g->grouping->name_count; i++) {
		const struct str *has = value_in(own, g->grouping->names[i]);
		const struct str *wants = value_in(wanted, g->grouping->names[i]);

		if (has && (!wants || !str_eq(*has, *wants)))
			return false;
		if (!has && wants && i >= 64)
			return false;
		if (!has && wants)
			*ret_labels |= UINT64_C(1) << i;
	}
	return !(*ret_labels & ~line->open);
}

/* The part of a line with these labels: all of it where there are no parts. */
static uint32_t part_with(const struct group_lines *g, uint32_t line, uint64_t labels)
{
	return g->lines.v[line].next == NO_LINE ? line : find_part(g, line, labels);
}

uint32_t group_lines_of(const struct group_lines *g, uint32_t line, uint32_t group)
{
	uint64_t labels;
	uint32_t part = NO_LINE;

	if (may_be_in(g, &g->lines.v[line], group, &labels))
		part = part_with(g, line, labels);
	return part == NO_LINE ? line : part;
}

enum err group_lines_find(struct group_lines *g, const struct coverage *c, uint32_t type,
			  uint32_t group)
{
	g->found.n = 0;
	for (uint32_t line = 0; line < g->lines.n; line++) {
		uint64_t labels;
		uint32_t part;

		if (g->lines.v[line].labels || c->lines.v[line].type != type ||
		    !may_be_in(g, &g->lines.v[line], group, &labels))
			continue;
		part = part_with(g, line, labels);
		/* No day has all of them. */
		if (part != NO_LINE)
			TRY(vec_push(&g->found, part));
	}
	return ERR_OK;
}

/* Of the groups that are not shown, the one that needs fewest labels says most. */
static uint32_t line_of_rest(const struct group_lines *g, uint32_t line, const uint32_t *rest,
			     size_t rest_count)
{
	uint32_t best = NO_LINE;
	int fewest = 65;

	for (size_t i = 0; i < rest_count; i++) {
		uint64_t labels;
		uint32_t part;

		if (!may_be_in(g, &g->lines.v[line], rest[i], &labels) ||
		    __builtin_popcountll(labels) >= fewest)
			continue;
		part = part_with(g, line, labels);
		if (part == NO_LINE)
			continue;
		best = part;
		fewest = __builtin_popcountll(labels);
	}
	return best;
}

enum err group_lines_rest(struct group_lines *g, const struct coverage *c, uint32_t type,
			  const bool *shown, const uint32_t *rest, size_t rest_count)
{
	g->found.n = 0;
	for (uint32_t line = 0; line < g->lines.n; line++) {
		uint32_t one = line;

		if (g->lines.v[line].labels || c->lines.v[line].type != type)
			continue;
		if (shown[g->lines.v[line].own])
			one = g->any_open ? line_of_rest(g, line, rest, rest_count) : NO_LINE;
		if (one != NO_LINE)
			TRY(vec_push(&g->found, one));
	}
	return ERR_OK;
}
