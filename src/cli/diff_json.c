#include <inttypes.h>

#include "base/jsonout.h"
#include "cli/diff_report.h"

void diff_put_name(const struct diff_report *r, uint32_t frame, struct buf *out)
{
	const struct dict *d = r->sides[1].profile->dict;
	struct str file = frame_file(d, frame);

	frame_label(d, frame, out);
	if (!r->o->lines || !file.n)
		return;
	buf_byte(out, ' ');
	buf_str(out, file);
	if (d->frames.v[frame].line)
		buf_printf(out, ":%" PRId64, d->frames.v[frame].line);
}

static void put_side(const struct diff_report *r, struct jsonout *j, int side)
{
	const struct view *v = &r->sides[side];
	struct amount amount = side ? r->change.after : r->change.before;
	struct completeness arrived;

	completeness_of_file(v->profile, v->type, &arrived);
	jsonout_put_object(j, side ? "after" : "before");
	jsonout_put_array(j, "inputs");
	for (size_t i = 0; i < v->in.sources.n; i++)
		jsonout_text(j, v->in.sources.v[i].name);
	jsonout_end_array(j);
	amount_set(&amount, r->diff.totals[side]);
	amount_put(j, &amount);
	jsonout_put_double(j, "samples", r->diff.samples[side]);
	jsonout_put_i64(j, "time_ns", v->profile->time_ns);
	jsonout_put_i64(j, "duration_ns", v->profile->duration_ns);
	jsonout_key(j, STR("completeness"));
	completeness_json(j, &arrived, NULL);
	jsonout_end_object(j);
}

static void put_pair(struct jsonout *j, const char *key, const int64_t values[2], double change,
		     const struct rate_change *whole)
{
	struct amount sides[2] = {whole->before, whole->after};

	jsonout_put_object(j, key);
	jsonout_put_i64(j, "before", values[0]);
	jsonout_put_i64(j, "after", values[1]);
	diff_put_difference(j, values, change);
	for (int i = 0; i < 2; i++) {
		amount_set(&sides[i], values[i]);
		jsonout_put_double(j, i ? "rate_after" : "rate_before", amount_rate(&sides[i]));
	}
	jsonout_end_object(j);
}

static void put_row(const struct diff_report *r, struct jsonout *j, const struct diff_row *row,
		    struct buf *name)
{
	const struct dict *d = r->sides[1].profile->dict;

	buf_clear(name);
	frame_label(d, row->frame, name);
	jsonout_object(j);
	jsonout_put_str(j, "name", buf_view(name));
	jsonout_put_str(j, "file", frame_file(d, row->frame));
	if (r->o->lines)
		jsonout_put_i64(j, "line", d->frames.v[row->frame].line);
	put_pair(j, "flat", row->flat, row->flat_change, &r->change);
	put_pair(j, "cum", row->cum, row->cum_change, &r->change);
	jsonout_put_double(j, "share_change", row->share_change / 100);
	jsonout_put_double(j, "share_error", row->error / 100);
	jsonout_put_double(j, "p_value", row->p_value);
	jsonout_put_text(j, "verdict", diff_verdict_name(row->verdict));
	jsonout_end_object(j);
}

void diff_json(const struct diff_report *r, struct buf *out)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 22);
	struct jsonout j = jsonout_of(out, true);

	jsonout_object(&j);
	jsonout_put_text(&j, "schema", "vestal.diff/1");
	jsonout_put_str(&j, "type", r->sides[1].type_name);
	jsonout_put_str(&j, "unit", r->sides[1].unit);
	put_side(r, &j, 0);
	put_side(r, &j, 1);
	jsonout_put_double(&j, "change", r->change.difference);
	jsonout_put_double(&j, "share", r->change.share);
	jsonout_put_text(&j, "verdict", change_word(r->change.verdict));
	jsonout_put_double(&j, "p_value", r->change.p_value);
	jsonout_put_text(&j, "test", r->change.test);
	jsonout_key(&j, STR("note"));
	if (diff_doubt(&r->diff))
		jsonout_text(&j, diff_doubt(&r->diff));
	else
		jsonout_null(&j);
	jsonout_put_bool(&j, "normalised", r->o->normalise);
	jsonout_put_double(&j, "scale", r->diff.scale);
	jsonout_put_text(&j, "order", r->o->flat ? "flat" : "cum");
	jsonout_put_u64(&j, "row_count", r->matching);
	jsonout_put_array(&j, "rows");
	for (size_t i = 0, left = r->shown; left && i < r->diff.n; i++) {
		if (!diff_is_shown(r, &r->diff.rows[i]))
			continue;
		put_row(r, &j, &r->diff.rows[i], &name);
		left--;
	}
	jsonout_end_array(&j);
	jsonout_end_object(&j);
	buf_byte(out, '\n');
}
