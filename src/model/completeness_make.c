/* Profiles of completeness: made row by row, and of the profiles of a request. */
#include "model/completeness_parts.h"

#include <math.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "model/types.h"
#include "model/values.h"

enum err completeness_begin(struct profile *p)
{
	TRY(profile_add_type(p, STR(COMPLETENESS_COUNT), STR("count")));
	TRY(profile_add_type(p, STR(COMPLETENESS_TIME), STR("nanoseconds")));
	TRY(dict_text(p->dict, COMPLETENESS_NAME, &p->period_type.type));
	TRY(dict_text(p->dict, "count", &p->period_type.unit));
	p->period = 1;
	p->default_type = 0;
	return ERR_OK;
}

static enum err leaf_of(struct dict *d, enum completeness_kind kind, struct str cause,
			uint32_t *ret)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

	buf_str(&text, completeness_kind_word(kind));
	if (completeness_kind_has_cause(kind)) {
		buf_text(&text, ": ");
		buf_str(&text, cause);
	}
	TRY(buf_error(&text));
	return dict_named_frame(d, buf_view(&text), ret);
}

static enum err stack_for(struct dict *d, struct str measure, enum completeness_kind kind,
			  struct str cause, uint32_t *ret)
{
	uint32_t frames[2];

	/* First: it may be text of this dictionary, which moves when something new comes in. */
	TRY(dict_named_frame(d, measure, &frames[1]));
	TRY(leaf_of(d, kind, cause, &frames[0]));
	return dict_stack(d, frames, 2, ret);
}

/* Rows of a profile are few. */
static enum err add_to_row(struct profile *p, uint32_t stack, struct tally_part part)
{
	struct row row = {.stack = stack};

	for (size_t i = 0; i < p->row_count; i++) {
		int64_t *values = p->values + i * p->type_count;

		if (p->stack[i] != stack)
			continue;
		values[0] = value_add(values[0], part.count);
		values[1] = value_add(values[1], part.time_ns);
		return ERR_OK;
	}
	return profile_add(p, &row, (int64_t[]){part.count, part.time_ns});
}

enum err completeness_put(struct profile *p, struct str measure, enum completeness_kind kind,
			  const char *cause, struct tally_part part)
{
	uint32_t stack;

	if (!part.count && !part.time_ns)
		return ERR_OK;
	TRY(stack_for(p->dict, measure, kind, str_of(cause), &stack));
	return add_to_row(p, stack, part);
}

/* ------------------------------------------------------------------ of other profiles */

/* The column of values, and that of their count; -1 = none. */
struct measure_columns {
	int count, time;
};

static bool is_time(const struct profile *p, uint32_t column)
{
	double factor;

	return unit_kind(dict_str(p->dict, p->types[column].unit), &factor) == UNIT_TIME &&
	       factor == 1;
}

/* The count of a measure stands before it; what is not time has no completeness of its own. */
static bool columns_at(const struct profile *p, uint32_t column, struct measure_columns *ret)
{
	struct str type = dict_str(p->dict, p->types[column].type);

	if (!is_time(p, column))
		return false;
	*ret = (struct measure_columns){-1, (int)column};
	if (column &&
	    str_eq(completeness_measure(dict_str(p->dict, p->types[column - 1].type)), type))
		ret->count = (int)column - 1;
	return true;
}

struct sums {
	struct tally_part kept, truncated, unnamed;
};

static void sum_rows(const struct profile *p, const struct measure_columns *m, const uint8_t *flaws,
		     struct sums *s)
{
	for (size_t i = 0; i < p->row_count; i++) {
		const int64_t *values = profile_values(p, i);
		int64_t count = m->count < 0 ? 0 : values[m->count], time = values[m->time];
		uint8_t flaw = flaws[p->stack[i]];

		s->kept.count = value_add(s->kept.count, count);
		s->kept.time_ns = value_add(s->kept.time_ns, time);
		if (flaw & FLAW_TRUNCATED) {
			s->truncated.count = value_add(s->truncated.count, count);
			s->truncated.time_ns = value_add(s->truncated.time_ns, time);
		}
		if (flaw & FLAW_UNNAMED) {
			s->unnamed.count = value_add(s->unnamed.count, count);
			s->unnamed.time_ns = value_add(s->unnamed.time_ns, time);
		}
	}
}

static enum err put_column(const struct profile *from, uint32_t column, struct profile *to,
			   enum completeness_kind kind, struct tally_part part)
{
	return completeness_put(to, dict_str(from->dict, from->types[column].type), kind, NULL,
				part);
}

static enum err put_sums(const struct profile *from, const uint8_t *flaws, struct profile *to)
{
	for (uint32_t column = 0; column < from->type_count; column++) {
		struct measure_columns m;
		struct sums s = {0};

		if (!columns_at(from, column, &m))
			continue;
		sum_rows(from, &m, flaws, &s);
		TRY(put_column(from, column, to, PART_KEPT, s.kept));
		TRY(put_column(from, column, to, PART_TRUNCATED, s.truncated));
		TRY(put_column(from, column, to, PART_UNNAMED, s.unnamed));
	}
	return ERR_OK;
}

enum err completeness_beside(struct profile_list *list, const struct profile *of,
			     struct profile **ret)
{
	struct profile *p;

	TRY(profile_list_add(list, of->dict, &p));
	p->time_ns = of->time_ns;
	p->duration_ns = of->duration_ns;
	p->resource = of->resource;
	p->scope_name = of->scope_name;
	p->scope_version = of->scope_version;
	*ret = p;
	return completeness_begin(p);
}

/* The one that was made for the same resource and time. */
static struct profile *find_made(const struct profile_list *list, const struct profile *of)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i]->resource == of->resource && list->v[i]->time_ns == of->time_ns)
			return list->v[i];
	return NULL;
}

enum err completeness_of_profiles(const struct profile_list *list, struct dict *d,
				  struct profile_list *ret)
{
	CLEANUP(mem_free_ptr) uint8_t *flaws = NULL;

	TRY(stack_flaws(d, &flaws));
	for (size_t i = 0; i < list->n; i++) {
		struct profile *to = find_made(ret, list->v[i]);

		if (profile_is_completeness(list->v[i]))
			continue;
		if (!to)
			TRY(completeness_beside(ret, list->v[i], &to));
		TRY(put_sums(list->v[i], flaws, to));
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ lost later */

/* Of the next value the units that are lost, so that values add up to the share of their sum. */
static int64_t take_share(int64_t value, const struct rejected_part *part, int64_t *kept,
			  int64_t *lost)
{
	int64_t before = *lost;

	*kept = value_add(*kept, value);
	*lost = part->rejected < part->of
			? (int64_t)(((__int128)*kept * part->rejected + part->of / 2) / part->of)
			: *kept;
	return *lost - before;
}

static void clear_row(struct profile *p, size_t row)
{
	memset(p->values + row * p->type_count, 0, 2 * sizeof(*p->values));
}

static enum err lose_row(struct profile *p, size_t row, struct str measure, const char *cause,
			 struct rejected_part *part)
{
	const int64_t *values = profile_values(p, row);
	struct tally_part lost = {
		take_share(values[0], part, &part->kept.count, &part->lost.count),
		take_share(values[1], part, &part->kept.time_ns, &part->lost.time_ns),
	};

	clear_row(p, row);
	if (part->rejected < part->of)
		TRY(completeness_put(p, measure, PART_REJECTED, NULL, lost));
	return completeness_put(p, measure, PART_LOST, cause, lost);
}

/*
 * Kinds that describe kept samples, which are meaningless once these are lost. Rejected samples are
 * not among them: they were kept by an earlier request, which a server has.
 */
static bool is_of_kept(enum completeness_kind kind)
{
	return kind == PART_TRUNCATED || kind == PART_UNNAMED || kind == PART_NAMELESS;
}

/* False for a row of an unknown kind. */
static bool kind_of_row(const struct profile *p, size_t row, enum completeness_kind *ret_kind,
			struct str *ret_measure)
{
	uint32_t frames;
	const uint32_t *ids = stack_frames(p->dict, p->stack[row], &frames);
	struct str why;

	if (frames != 2 || !completeness_kind_parse(frame_name(p->dict, ids[0]), ret_kind, &why))
		return false;
	*ret_measure = frame_name(p->dict, ids[1]);
	return true;
}

enum err completeness_lose(struct profile *p, const char *cause, struct rejected_part *part)
{
	size_t n = p->row_count, kept = 0;
	bool whole = part->rejected >= part->of;
	enum completeness_kind kind;
	struct str measure;

	/* Before rows are appended. */
	for (size_t i = 0; i < n; i++)
		if (kind_of_row(p, i, &kind, &measure) &&
		    (whole ? is_of_kept(kind) : kind != PART_KEPT))
			clear_row(p, i);
	for (size_t i = 0; i < n; i++)
		if (kind_of_row(p, i, &kind, &measure) && kind == PART_KEPT)
			TRY(lose_row(p, i, measure, cause, part));
	for (size_t i = 0; i < p->row_count; i++)
		if (profile_values(p, i)[0] || profile_values(p, i)[1])
			profile_move_row(p, i, kept++);
	p->row_count = kept;
	return ERR_OK;
}
