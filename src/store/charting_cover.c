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

static const struct str *value_in(const struct label_tuple *tuple, struct str name)
{
	for (size_t i = 0; i < tuple->n; i++)
		if (str_eq(tuple->labels[i].name, name))
			return &tuple->labels[i].value;
	return NULL;
}

/* Whether samples of a series may be in a group: its own labels must match, and its samples must be
 * able to have the others. */
static bool may_be_in(const struct charting *c, const struct line_labels *line, uint32_t group)
{
	const struct label_tuple *own = &c->grouping.groups.v[line->own];
	const struct label_tuple *wanted = &c->grouping.groups.v[group];

	for (size_t i = 0; i < c->grouping.name_count; i++) {
		const struct str *has = value_in(own, c->grouping.names[i]);
		const struct str *wants = value_in(wanted, c->grouping.names[i]);

		if (has && (!wants || !str_eq(*has, *wants)))
			return false;
		if (!has && wants && (i >= 64 || !(line->open >> i & 1)))
			return false;
	}
	return true;
}

/* A group by sample labels is covered by all series that may have such samples, as in a selection
 * by these labels, because the absence of such samples was measured, too. */
static enum err find_lines(struct charting *c, const struct made_series *made)
{
	c->lines.n = 0;
	for (uint32_t line = 0; line < c->line_labels.n; line++)
		if (c->coverage.lines.v[line].type == made->type &&
		    may_be_in(c, &c->line_labels.v[line], made->group))
			TRY(vec_push(&c->lines, line));
	return ERR_OK;
}

static bool is_of_samples(const struct charting *c, uint32_t group)
{
	return group < c->of_samples.n && c->of_samples.v[group];
}

/* Marks the lines of a type in groups that are not shown, also those without a value, as in a
 * selection of all these groups. */
static enum err mark_rest(const struct charting *c, const struct made_list *list, size_t limit,
			  uint32_t type, struct arena *arena, bool *lines)
{
	bool *shown = arena_zalloc(arena, c->grouping.groups.n + 1, sizeof(*shown));

	if (!shown)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < limit; i++)
		shown[list->v[i].group] |= list->v[i].type == type;
	vec_for_each (member, &c->members)
		lines[member->line] |= !shown[member->group];
	for (size_t i = limit; i < list->n; i++)
		for (uint32_t line = 0;
		     is_of_samples(c, list->v[i].group) && line < c->line_labels.n; line++)
			if (!lines[line])
				lines[line] =
					may_be_in(c, &c->line_labels.v[line], list->v[i].group);
	return ERR_OK;
}

enum err charting_unite_lines(struct charting *c, const struct made_list *list, size_t limit,
			      struct made_series *other)
{
	size_t n = c->coverage.lines.n;
	bool *marked = arena_zalloc(&c->q.arena, n + 1, sizeof(*marked));

	other->lines = arena_alloc(&c->q.arena, (n + 1) * sizeof(*other->lines));
	if (!marked || !other->lines)
		return ERR_NO_MEMORY;
	TRY(mark_rest(c, list, limit, other->type, &c->q.arena, marked));
	for (uint32_t line = 0; line < n; line++)
		if (marked[line] && c->coverage.lines.v[line].type == other->type)
			other->lines[other->line_count++] = line;
	return ERR_OK;
}

enum err charting_measure(struct charting *c, struct series_answer *ret, struct made_series *made)
{
	int64_t *covered = arena_zalloc(&ret->arena, c->n + 1, sizeof(*covered));
	bool of_samples = !made->points.other && is_of_samples(c, made->group);

	if (!covered)
		return ERR_NO_MEMORY;
	made->points.covered = covered;
	if (of_samples)
		TRY(find_lines(c, made));
	return coverage_sum(&c->coverage, of_samples ? c->lines.v : made->lines,
			    of_samples ? c->lines.n : made->line_count, covered,
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
			if (c->coverage.lines.v[i].type == t)
				lines[n++] = i;
		TRY(coverage_sum(&c->coverage, lines, n, NULL, &covered));
		if (covered > c->q.ask->covered_ns)
			c->q.ask->covered_ns = covered;
	}
	return ERR_OK;
}
