#include "store/charting.h"

/* The series of the member's group; NULL if it has no value. */
static struct made_series *made_of(const struct charting *c, struct made_series **of,
				   const struct member *member)
{
	uint32_t type = c->coverage.lines.v[member->line].type;

	return of[member->group * c->types.n + type];
}

/* Collects the lines of the coverage of each series. */
enum err charting_give_lines(struct charting *c, struct made_series **of)
{
	vec_for_each (member, &c->members) {
		struct made_series *made = made_of(c, of, member);

		if (made)
			made->line_count++;
	}
	vec_for_each (member, &c->members) {
		struct made_series *made = made_of(c, of, member);

		if (!made)
			continue;
		if (!made->lines) {
			made->lines =
				arena_alloc(&c->q.arena, made->line_count * sizeof(*made->lines));
			if (!made->lines)
				return ERR_NO_MEMORY;
			made->line_count = 0;
		}
		made->lines[made->line_count++] = member->line;
	}
	return ERR_OK;
}

/* The lines of `other`: as in a selection of all groups that are not shown. */
enum err charting_unite_lines(struct charting *c, const struct made_list *list, size_t limit,
			      struct made_series *other)
{
	bool *shown = arena_zalloc(&c->q.arena, c->grouping.groups.n + 1, sizeof(*shown));
	uint32_t *rest = arena_alloc(&c->q.arena, (list->n + 1) * sizeof(*rest));
	size_t n = 0;

	if (!shown || !rest)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].type != other->type)
			continue;
		if (i < limit)
			shown[list->v[i].group] = true;
		else
			rest[n++] = list->v[i].group;
	}
	TRY(group_lines_rest(&c->lines, &c->coverage, other->type, shown, rest, n));
	other->lines = arena_alloc(&c->q.arena, (c->lines.found.n + 1) * sizeof(*other->lines));
	if (!other->lines)
		return ERR_NO_MEMORY;
	vec_for_each (line, &c->lines.found)
		other->lines[other->line_count++] = *line;
	return ERR_OK;
}

enum err charting_measure(struct charting *c, struct series_answer *ret, struct made_series *made)
{
	int64_t *covered = arena_zalloc(&ret->arena, c->n + 1, sizeof(*covered));
	bool by_samples = !made->points.other && c->lines.any_open;

	if (!covered)
		return ERR_NO_MEMORY;
	made->points.covered = covered;
	if (by_samples)
		TRY(group_lines_find(&c->lines, &c->coverage, made->type, made->group));
	return coverage_sum(&c->coverage, by_samples ? c->lines.found.v : made->lines,
			    by_samples ? c->lines.found.n : made->line_count, covered,
			    &made->points.covered_ns);
}

static bool has_series(const struct made_list *list, uint32_t type)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].type == type)
			return true;
	return false;
}

/* Adds the profiled time to that of other answers. There is one group. */
enum err charting_add_to_wholes(struct charting *c, const struct made_list *list)
{
	uint32_t *lines = arena_alloc(&c->q.arena, (c->members.n + 1) * sizeof(*lines));

	if (!lines)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < c->types.n; t++) {
		struct coverage_whole *whole;
		size_t n = 0;

		vec_for_each (member, &c->members)
			if (c->coverage.lines.v[member->line].type == t)
				lines[n++] = member->line;
		if (!n)
			continue;
		TRY(whole_list_find(c->wholes, c->types.v[t].id, &whole));
		whole->has_values |= has_series(list, t);
		TRY(coverage_whole_add(whole, &c->coverage, lines, n));
	}
	return ERR_OK;
}

/* The covered time of the selection, independent of groups. */
enum err charting_measure_all(struct charting *c)
{
	uint32_t *lines = arena_alloc(&c->q.arena, (c->coverage.lines.n + 1) * sizeof(*lines));

	c->q.ask->covered_ns = 0;
	if (!lines)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < c->types.n; t++) {
		int64_t covered;
		size_t n = 0;

		for (uint32_t i = 0; i < c->coverage.lines.n; i++)
			if (c->coverage.lines.v[i].type == t && !group_lines_is_part(&c->lines, i))
				lines[n++] = i;
		TRY(coverage_sum(&c->coverage, lines, n, NULL, &covered));
		if (covered > c->q.ask->covered_ns)
			c->q.ask->covered_ns = covered;
	}
	return ERR_OK;
}
