/*
 * The examples of docs/numbers.md, computed by the functions that the product computes them with.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../test.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "model/amount_text.h"
#include "model/rate_change.h"
#include "model/significance.h"

#define MAX_WORDS 6

struct example {
	struct str words[MAX_WORDS], result;
	size_t n;
};

static double number(const struct example *e, size_t i)
{
	char text[64];

	if (i >= e->n)
		return NAN;
	snprintf(text, sizeof(text), "%.*s", (int)e->words[i].n, e->words[i].p);
	return strtod(text, NULL);
}

/* To nine figures: logarithms differ in the last ones from one libm to the next. */
static void put_number(struct buf *out, double x)
{
	if (isnan(x))
		buf_text(out, "nan");
	else
		buf_printf(out, "%.9g", x);
}

static struct amount amount(double total, double covered_s, double range)
{
	return (struct amount){
		.total = total, .covered_ns = (int64_t)covered_s, .range_ns = (int64_t)range};
}

static double share_of(double before, double after)
{
	struct change_side a = {.amount = amount(before, NS_PER_S, NS_PER_S)};
	struct change_side b = {.amount = amount(after, NS_PER_S, NS_PER_S)};

	return change_over_time(&a, &b).share;
}

static double samples_p(const struct example *e)
{
	struct change_side side[2];

	for (size_t i = 0; i < 2; i++)
		side[i] = (struct change_side){
			.amount = amount(1e9, number(e, 2 + 2 * i) * NS_PER_S, NS_PER_S),
			.samples = number(e, 1 + 2 * i)};
	return change_by_samples(&side[0], &side[1]).p_value;
}

static bool compute_number(const struct example *e, double *ret)
{
	struct str name = e->words[0];
	struct amount a = amount(number(e, 1), number(e, 2), number(e, 2));
	struct amount c = amount(0, number(e, 1), number(e, 2));

	if (str_eq(name, STR("rate")))
		*ret = amount_rate(&a);
	else if (str_eq(name, STR("average")))
		*ret = amount_average(&a);
	else if (str_eq(name, STR("coverage")))
		*ret = amount_coverage(&c);
	else if (str_eq(name, STR("share")))
		*ret = share_of(number(e, 1), number(e, 2));
	else if (str_eq(name, STR("student_p")))
		*ret = student_test(number(e, 1), number(e, 2));
	else if (str_eq(name, STR("samples_p")))
		*ret = samples_p(e);
	else
		return false;
	return true;
}

static void compute(const struct example *e, struct buf *out)
{
	struct str name = e->words[0];
	double x;

	if (compute_number(e, &x))
		put_number(out, x);
	else if (str_eq(name, STR("rate_text")))
		rate_text(out, number(e, 3), e->words[1], e->words[2], false);
	else if (str_eq(name, STR("amount_text")))
		amount_text(out, number(e, 3), e->words[1], e->words[2]);
	else if (str_eq(name, STR("share_text")))
		share_text(out, number(e, 1));
	else
		buf_text(out, "there is no such function");
}

static bool parse(struct str line, struct example *ret)
{
	size_t at = str_find(line, '=');
	struct str words = str_trim(str_n(line.p, at)), word;

	*ret = (struct example){.result = str_trim(str_skip(line, at + 1))};
	while (ret->n < MAX_WORDS && str_split(&words, ' ', &word))
		ret->words[ret->n++] = word;
	return at < line.n && ret->n > 1;
}

static void put_expected(const struct example *e, struct buf *out)
{
	double x;

	if (compute_number(e, &x))
		put_number(out, strtod(e->result.p, NULL));
	else
		buf_str(out, e->result);
}

static void check_example(struct str line)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
	CLEANUP(buf_release) struct buf expected = BUF_INIT(4096);
	struct example e;

	if (!parse(line, &e)) {
		test_fail(__FILE__, __LINE__, "not an example: %.*s", (int)line.n, line.p);
		return;
	}
	compute(&e, &out);
	put_expected(&e, &expected);
	if (!str_eq(buf_view(&out), buf_view(&expected)))
		test_fail(__FILE__, __LINE__, "%.*s: got \"%.*s\"", (int)line.n, line.p, (int)out.n,
			  out.data ? out.data : "");
}

TEST(every_example_of_the_document_is_what_the_program_computes)
{
	CLEANUP(buf_release) struct buf page = BUF_INIT(1 << 20);
	enum err error = file_read(DOCS "/numbers.md", &page, NULL);
	struct str rest = buf_view(&page), line;
	bool inside = false;
	size_t n = 0;

	CHECK_INT(error, ERR_OK);
	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("```"))) {
			inside = str_eq(line, STR("```numbers"));
			continue;
		}
		if (!inside)
			continue;
		check_example(line);
		n++;
	}
	CHECK(n > 30);
}
