/* Reading what profiles of completeness say, and adding it up. */
#include "model/completeness_parts.h"

#include "model/values.h"

#define OTHER_CAUSES	 "other causes"
#define KINDS_WITH_CAUSE 4

static const struct {
	struct str word;
	bool has_cause;
} kinds[PART_KINDS] = {
	[PART_KEPT] = {STR("kept"), false},
	[PART_LOST] = {STR("lost"), true},
	[PART_TRUNCATED] = {STR("truncated"), false},
	[PART_UNNAMED] = {STR("unnamed"), false},
	[PART_OFF] = {STR("off"), true},
	[PART_LOWERED] = {STR("lowered"), true},
	[PART_THRESHOLD] = {STR("threshold"), false},
	[PART_WATCHED] = {STR("watched"), false},
	[PART_NAMELESS] = {STR("no names"), true},
	[PART_REJECTED] = {STR("rejected"), false},
};

struct str completeness_kind_word(enum completeness_kind kind)
{
	return kinds[kind].word;
}

bool completeness_kind_has_cause(enum completeness_kind kind)
{
	return kinds[kind].has_cause;
}

bool completeness_kind_parse(struct str text, enum completeness_kind *ret, struct str *ret_cause)
{
	size_t colon = str_find(text, ':');
	struct str word = str_n(text.p, colon);

	for (unsigned i = 0; i < PART_KINDS; i++) {
		if (!str_eq(word, kinds[i].word) || kinds[i].has_cause != (colon < text.n))
			continue;
		*ret = (enum completeness_kind)i;
		*ret_cause = str_trim(str_skip(text, colon + 1));
		return true;
	}
	return false;
}

bool type_is_completeness(struct str id)
{
	return str_starts(id, STR(COMPLETENESS_NAME ":"));
}

struct str completeness_measure(struct str sample_type)
{
	static const struct {
		struct str count, value;
	} counts[] = {
		{STR("samples"), STR("cpu")},
		{STR("off_cpu_waits"), STR("off_cpu")},
		{STR("contentions"), STR("delay")},
		{STR("turns"), STR("lag")},
		{STR("alloc_objects"), STR("alloc_space")},
		{STR("inuse_objects"), STR("inuse_space")},
		{STR("held_contentions"), STR("held_delay")},
		{STR("block_contentions"), STR("block_delay")},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (str_eq(sample_type, counts[i].count))
			return counts[i].value;
	return sample_type;
}

bool profile_is_completeness(const struct profile *p)
{
	return p->type_count &&
	       str_starts(dict_str(p->dict, p->types[0].type), STR(COMPLETENESS_NAME "_"));
}

static void part_add(struct tally_part *to, struct tally_part part)
{
	to->count = value_add(to->count, part.count);
	to->time_ns = value_add(to->time_ns, part.time_ns);
}

static struct completeness_cause *find_cause(struct completeness *c, enum completeness_kind kind,
					     struct str text)
{
	for (uint32_t i = 0; i < c->cause_count; i++)
		if (c->causes[i].kind == kind && str_eq(str_of(c->causes[i].text), text))
			return &c->causes[i];
	return NULL;
}

/* The last places are for all causes of a kind that have none of their own. */
static struct completeness_cause *cause_of(struct completeness *c, enum completeness_kind kind,
					   struct str text)
{
	struct completeness_cause *one = find_cause(c, kind, text);

	if (!one && c->cause_count >= COMPLETENESS_CAUSES - KINDS_WITH_CAUSE) {
		text = STR(OTHER_CAUSES);
		one = find_cause(c, kind, text);
	}
	if (one)
		return one;
	one = &c->causes[c->cause_count++];
	*one = (struct completeness_cause){.kind = kind};
	memcpy(one->text, text.p, text.n);
	return one;
}

/* As far as there is room; what is not whole UTF-8 then is cut before it. */
static struct str shortened(struct str text)
{
	if (text.n < COMPLETENESS_CAUSE)
		return text;
	text.n = COMPLETENESS_CAUSE - 1;
	while (text.n && !utf8_valid(text))
		text.n--;
	return text;
}

void completeness_note(struct completeness *c, enum completeness_kind kind, struct str cause,
		       struct tally_part part)
{
	c->reported = true;
	part_add(&c->parts[kind], part);
	if (kinds[kind].has_cause)
		part_add(&cause_of(c, kind, shortened(cause))->part, part);
}

void completeness_add(struct completeness *to, const struct completeness *from)
{
	to->reported |= from->reported;
	for (unsigned i = 0; i < PART_KINDS; i++)
		if (!kinds[i].has_cause)
			part_add(&to->parts[i], from->parts[i]);
	for (uint32_t i = 0; i < from->cause_count; i++)
		completeness_note(to, from->causes[i].kind, str_of(from->causes[i].text),
				  from->causes[i].part);
}

static int64_t value_in(const struct profile *p, size_t row, int column)
{
	return column < 0 ? 0 : profile_values(p, row)[column];
}

void completeness_read_row(const struct profile *p, size_t row, int count_column, int time_column,
			   struct str measure, struct completeness *c)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(p->dict, p->stack[row], &n);
	enum completeness_kind kind;
	struct str of, cause;

	if (n != 2)
		return;
	of = frame_name(p->dict, ids[1]);
	if (!str_eq(of, measure) && !str_eq(of, STR(COMPLETENESS_ALL)))
		return;
	if (completeness_kind_parse(frame_name(p->dict, ids[0]), &kind, &cause))
		completeness_note(c, kind, cause,
				  (struct tally_part){value_in(p, row, count_column),
						      value_in(p, row, time_column)});
}

void completeness_read(const struct profile *p, int count_column, int time_column,
		       struct str measure, struct completeness *c)
{
	for (size_t i = 0; i < p->row_count; i++)
		completeness_read_row(p, i, count_column, time_column, measure, c);
}

static int64_t without(int64_t value, int64_t part)
{
	return value > part ? value - part : 0;
}

struct tally_part completeness_kept(const struct completeness *c)
{
	const struct tally_part *kept = &c->parts[PART_KEPT], *gone = &c->parts[PART_REJECTED];

	return (struct tally_part){without(kept->count, gone->count),
				   without(kept->time_ns, gone->time_ns)};
}

double completeness_kept_share(const struct completeness *c)
{
	struct tally_part kept = completeness_kept(c), lost = c->parts[PART_LOST];
	double time = (double)kept.time_ns + (double)lost.time_ns;
	double count = (double)kept.count + (double)lost.count;

	if (time > 0)
		return (double)kept.time_ns / time;
	return count > 0 ? (double)kept.count / count : 1;
}

/* The observed time. */
static double time_share(const struct completeness *c, enum completeness_kind kind)
{
	double part = (double)c->parts[kind].time_ns;
	double watched = (double)c->parts[PART_WATCHED].time_ns;

	return watched > part ? part / watched : part > 0 ? 1 : 0;
}

double completeness_off_share(const struct completeness *c)
{
	return time_share(c, PART_OFF);
}

double completeness_lowered_share(const struct completeness *c)
{
	return time_share(c, PART_LOWERED);
}
