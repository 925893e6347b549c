/*
 * Whether the total changed: for two selections the server decides, by their time series; for files
 * the number of samples does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/diff_report.h"
#include "cli/small_answer.h"

/* ------------------------------------------------------------------ what a server says */

/* Reads the exact total. Null leaves it unknown. */
static void read_total(struct json *j, struct amount *ret)
{
	struct json_number n;

	if (json_peek(j) == JSON_NULL) {
		json_skip(j);
	} else if (json_number(j, &n)) {
		ret->total = json_number_double(&n);
		ret->whole = n.kind == JSON_I64 ? n.i : 0;
	}
}

static void read_amount(struct json *j, struct amount *ret)
{
	struct str key;

	if (!json_object(j))
		return;
	ret->total = NAN;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("total")))
			read_total(j, ret);
		else if (str_eq(key, STR("covered_ns")))
			json_i64(j, &ret->covered_ns);
		else
			json_skip(j);
	}
}

static void read_word(struct json *j, struct rate_change *c)
{
	struct str word = {0};

	json_string(j, &word);
	for (int v = CHANGE_UNKNOWN; v <= CHANGE_LESS; v++)
		if (str_eq(word, str_of(change_word(v))))
			c->verdict = v;
}

static void read_test(struct json *j, struct rate_change *c)
{
	struct str word = {0};

	json_string(j, &word);
	c->test = str_eq(word, STR(CHANGE_TEST_TIME)) ? CHANGE_TEST_TIME : NULL;
}

static void read_change(struct json *j, struct rate_change *c)
{
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("before")))
			read_amount(j, &c->before);
		else if (str_eq(key, STR("after")))
			read_amount(j, &c->after);
		else if (str_eq(key, STR("change")))
			json_double(j, &c->difference);
		else if (str_eq(key, STR("share")))
			json_double(j, &c->share);
		else if (str_eq(key, STR("p_value")))
			json_double(j, &c->p_value);
		else if (str_eq(key, STR("verdict")))
			read_word(j, c);
		else if (str_eq(key, STR("test")))
			read_test(j, c);
		else
			json_skip(j);
	}
}

static void put_side(struct call *c, const struct source *s, const char *name, const char *from,
		     const char *until)
{
	char text[32];

	call_param_text(c, name, s->name);
	snprintf(text, sizeof(text), "%" PRId64, s->from_ns);
	call_param_text(c, from, text);
	snprintf(text, sizeof(text), "%" PRId64, s->until_ns);
	call_param_text(c, until, text);
}

static int ask_server(struct diff_report *r)
{
	CLEANUP(call_release) struct call c;
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	struct reading reading = {.limits = LIMITS_DEFAULT};
	const struct view *after = &r->sides[1];
	struct json j;
	int status;

	call_init(&c, &r->o->input.client, "/api/v1/change");
	call_param(&c, "type", after->type_name);
	put_side(&c, &r->sides[0].in.sources.v[0], "baseline", "baseline_from", "baseline_until");
	put_side(&c, &after->in.sources.v[0], "comparison", "comparison_from", "comparison_until");
	status = client_get(&c, &answer);
	if (status)
		return status;
	r->change.share = r->change.p_value = r->change.difference = NAN;
	json_init(&j, buf_view(&answer), "answer", 16, &reading);
	read_change(&j, &r->change);
	return answer_read(&j, &reading);
}

/* ------------------------------------------------------------------ which of both */

/* One whole selection of a server, of which the range is known. */
static bool is_selection(const struct view *v)
{
	const struct source *only = v->in.sources.n == 1 ? &v->in.sources.v[0] : NULL;

	return only && only->stored && only->covered_ns >= 0 && !v->filtered;
}

int diff_find_change(struct diff_report *r)
{
	struct change_side sides[2];

	for (int i = 0; i < 2; i++)
		sides[i] =
			(struct change_side){.amount = view_amount(&r->sides[i], r->diff.totals[i]),
					     .samples = r->diff.samples[i]};
	r->change = change_by_samples(&sides[0], &sides[1]);
	if (!is_selection(&r->sides[0]) || !is_selection(&r->sides[1]))
		return EXIT_OK;
	return ask_server(r);
}

/* ------------------------------------------------------------------ as text */

static const char *const words[] = {"too little data",		 "no earlier data",
				    "no data on the later side", "no significant change",
				    "more than noise",		 "more than noise"};

/* Far out a p-value has no digits that mean anything. */
static void put_test(const struct rate_change *c, struct buf *out)
{
	bool by_time = c->test && strcmp(c->test, CHANGE_TEST_TIME) == 0;

	if (c->p_value < 1e-9)
		buf_text(out, " (p < 1e-9, by ");
	else
		buf_printf(out, " (p = %.2g, by ", c->p_value);
	buf_text(out, by_time ? "blocks of time)" : "samples)");
}

void diff_put_change(const struct diff_report *r, struct buf *out)
{
	const struct rate_change *c = &r->change;
	const struct view *v = &r->sides[1];
	bool no_time = c->verdict == CHANGE_UNKNOWN && isnan(c->difference);
	size_t from;

	buf_text(out, "Change: ");
	from = out->n;
	share_text(out, c->share);
	if (out->n > from && !c->before.gauge) {
		buf_text(out, c->difference < 0 ? " (−" : " (+");
		rate_text(out, fabs(c->difference), v->type_name, v->unit, false);
		buf_byte(out, ')');
	}
	if (out->n > from)
		buf_text(out, ", ");
	buf_text(out, no_time ? "unknown: the profiles have no duration" : words[c->verdict]);
	if (!isnan(c->p_value))
		put_test(c, out);
	buf_byte(out, '\n');
}
