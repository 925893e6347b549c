/* Completeness for readers: JSON, a sentence, and a line that files carry. */
#include "model/completeness_parts.h"

#include <math.h>

#include "base/buf.h"
#include "base/jsonout.h"

/* At this share no message is needed. */
#define ENOUGH 0.999

/* ------------------------------------------------------------------ JSON */

static void put_part(struct jsonout *o, const char *key, struct tally_part part)
{
	jsonout_put_object(o, key);
	jsonout_put_i64(o, "count", part.count);
	jsonout_put_i64(o, "time_ns", part.time_ns);
	jsonout_end_object(o);
}

static void put_causes(struct jsonout *o, const char *key, const struct completeness *c,
		       enum completeness_kind kind)
{
	jsonout_put_array(o, key);
	for (uint32_t i = 0; i < c->cause_count; i++) {
		const struct completeness_cause *one = &c->causes[i];

		if (one->kind != kind)
			continue;
		jsonout_object(o);
		jsonout_put_text(o, "cause", one->text);
		jsonout_put_i64(o, "count", one->part.count);
		jsonout_put_i64(o, "time_ns", one->part.time_ns);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

/* The period that was used on average; of off-CPU time and the like the threshold. */
static void put_level(struct jsonout *o, const struct completeness *c)
{
	const struct tally_part *kept = &c->parts[PART_KEPT], *at = &c->parts[PART_THRESHOLD];

	jsonout_put_object(o, "level");
	jsonout_key(o, STR("period_ns"));
	if (!at->count && kept->count > 0 && kept->time_ns > 0)
		jsonout_double(o, round((double)kept->time_ns / (double)kept->count));
	else
		jsonout_null(o);
	jsonout_key(o, STR("threshold_ns"));
	if (at->count > 0)
		jsonout_double(o, round((double)at->time_ns / (double)at->count));
	else
		jsonout_null(o);
	jsonout_end_object(o);
}

static void put_reported(struct jsonout *o, const struct completeness *c)
{
	double off = completeness_off_share(c);

	put_part(o, "kept", completeness_kept(c));
	put_part(o, "lost", c->parts[PART_LOST]);
	jsonout_put_double(o, "kept_share", completeness_kept_share(c));
	put_causes(o, "causes", c, PART_LOST);
	jsonout_put_double(o, "off_share", off);
	put_causes(o, "off", c, PART_OFF);
	jsonout_put_double(o, "lowered_share", completeness_lowered_share(c));
	put_causes(o, "lowered", c, PART_LOWERED);
	put_causes(o, "unnamed_causes", c, PART_NAMELESS);
	put_level(o, c);
}

static double share_of(const struct completeness *c, enum completeness_kind kind)
{
	const struct tally_part *kept = &c->parts[PART_KEPT], *part = &c->parts[kind];

	if (kept->time_ns > 0)
		return (double)part->time_ns / (double)kept->time_ns;
	return kept->count > 0 ? (double)part->count / (double)kept->count : 0;
}

static void put_share(struct jsonout *o, const char *key, const struct completeness *c,
		      enum completeness_kind kind, const double *seen)
{
	jsonout_key(o, str_of(key));
	if (seen)
		jsonout_double(o, *seen);
	else if (c->reported)
		jsonout_double(o, share_of(c, kind));
	else
		jsonout_null(o);
}

void completeness_json(struct jsonout *o, const struct completeness *c,
		       const struct stack_quality *q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(8192);

	jsonout_object(o);
	jsonout_put_bool(o, "reported", c->reported);
	if (c->reported)
		put_reported(o, c);
	put_share(o, "truncated_share", c, PART_TRUNCATED, q ? &q->truncated : NULL);
	put_share(o, "unnamed_share", c, PART_UNNAMED, q ? &q->unnamed : NULL);
	if (q) {
		jsonout_put_u64(o, "frames", q->frames);
		jsonout_put_u64(o, "unnamed_frames", q->unnamed_frames);
	}
	completeness_sentence(c, &text);
	jsonout_put_str(o, "text", buf_view(&text));
	jsonout_end_object(o);
}

/* ------------------------------------------------------------------ a sentence */

/* "99.2", and never "100" of what is less than all. */
static void put_percent(struct buf *out, double share)
{
	double percent = 100 * share;

	if (share < 1 && percent > 99.99)
		percent = 99.99;
	buf_printf(out,
		   percent > 0 && percent < 1 ? "%.2g%%"
		   : percent > 99	      ? "%.4g%%"
					      : "%.3g%%",
		   percent);
}

static int largest(const struct completeness *c, enum completeness_kind kind, uint32_t done)
{
	int best = -1;

	for (uint32_t i = 0; i < c->cause_count; i++) {
		const struct tally_part *p = &c->causes[i].part;

		if (c->causes[i].kind != kind || done & 1u << i)
			continue;
		if (best < 0 || p->time_ns > c->causes[best].part.time_ns ||
		    (p->time_ns == c->causes[best].part.time_ns &&
		     p->count > c->causes[best].part.count))
			best = (int)i;
	}
	return best;
}

/* The causes of a kind, the largest first, with commas between. */
static void put_cause_names(struct buf *out, const struct completeness *c,
			    enum completeness_kind kind)
{
	uint32_t done = 0;
	int at;

	for (unsigned n = 0; (at = largest(c, kind, done)) >= 0; n++) {
		buf_text(out, n ? ", " : "");
		buf_text(out, c->causes[at].text);
		done |= 1u << at;
	}
}

/* Starts of further parts of the sentence. */
static void put_part_of_time(struct buf *out, const char *what, double share)
{
	buf_text(out, out->n ? "; " : "");
	buf_text(out, what);
	put_percent(out, share);
	buf_text(out, " of the time: ");
}

void completeness_sentence(const struct completeness *c, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
	double kept = completeness_kept_share(c), off = completeness_off_share(c);
	double lowered = completeness_lowered_share(c);

	if (!c->reported)
		return;
	if (kept < ENOUGH) {
		put_percent(&text, kept);
		buf_text(&text, " of samples kept; ");
		put_percent(&text, 1 - kept);
		buf_text(&text, " lost: ");
		put_cause_names(&text, c, PART_LOST);
	}
	if (off > 1 - ENOUGH) {
		put_part_of_time(&text, "not measured ", off);
		put_cause_names(&text, c, PART_OFF);
	}
	if (lowered > 1 - ENOUGH) {
		put_part_of_time(&text, "sampled less often ", lowered);
		put_cause_names(&text, c, PART_LOWERED);
	}
	if (share_of(c, PART_NAMELESS) > 1 - ENOUGH) {
		buf_text(&text, text.n ? "; " : "");
		put_percent(&text, share_of(c, PART_NAMELESS));
		buf_text(&text, " without names: ");
		put_cause_names(&text, c, PART_NAMELESS);
	}
	buf_str(out, buf_view(&text));
}

void completeness_line(const struct completeness *c, const char *about, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(8192);

	completeness_sentence(c, &text);
	if (!text.n)
		return;
	buf_text(out, about);
	buf_str(out, buf_view(&text));
	buf_byte(out, '\n');
}

/* ------------------------------------------------------------------ a line in a file */

#define COMMENT_MARK "completeness of "

void completeness_comment(const struct completeness *c, struct str measure, struct buf *out)
{
	if (!c->reported)
		return;
	buf_text(out, COMMENT_MARK);
	buf_str(out, measure);
	for (unsigned i = 0; i < PART_KINDS; i++)
		if (!completeness_kind_has_cause((enum completeness_kind)i) &&
		    (c->parts[i].count || c->parts[i].time_ns))
			buf_printf(out, "; %s=%lld/%lld", completeness_kind_word(i).p,
				   (long long)c->parts[i].count, (long long)c->parts[i].time_ns);
	for (uint32_t i = 0; i < c->cause_count; i++)
		buf_printf(out, "; %s: %s=%lld/%lld", completeness_kind_word(c->causes[i].kind).p,
			   c->causes[i].text, (long long)c->causes[i].part.count,
			   (long long)c->causes[i].part.time_ns);
}

/* "lost: ring full=3/4000" */
static void take_field(struct str field, struct completeness *c)
{
	size_t equals = str_rfind(field, '='), slash = str_rfind(field, '/');
	enum completeness_kind kind;
	struct tally_part part;
	struct str cause;

	if (equals >= field.n || slash >= field.n || slash < equals ||
	    str_to_i64(str_n(field.p + equals + 1, slash - equals - 1), &part.count) != ERR_OK ||
	    str_to_i64(str_skip(field, slash + 1), &part.time_ns) != ERR_OK ||
	    !completeness_kind_parse(str_n(field.p, equals), &kind, &cause))
		return;
	completeness_note(c, kind, cause, part);
}

bool completeness_of_comment(struct str comment, struct str measure, struct completeness *c)
{
	struct str field;

	if (!str_starts(comment, STR(COMMENT_MARK)))
		return false;
	comment = str_skip(comment, sizeof(COMMENT_MARK) - 1);
	if (!str_split(&comment, ';', &field) || !str_eq(field, measure))
		return false;
	c->reported = true;
	while (str_split(&comment, ';', &field))
		take_field(str_trim(field), c);
	return true;
}

void completeness_of_file(const struct profile *p, uint32_t type, struct completeness *ret)
{
	struct str measure = completeness_measure(dict_str(p->dict, p->types[type].type));

	*ret = (struct completeness){0};
	for (size_t i = 0; i < p->comments.n; i++)
		(void)completeness_of_comment(dict_str(p->dict, p->comments.v[i]), measure, ret);
}
