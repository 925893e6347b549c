/*
 * Folded stacks: one line per stack, `root;caller;leaf 123`.
 *
 * What the many producers do differently, and what becomes of it:
 *
 *	`a;b 12.5`	counts with decimals become whole numbers of the same sum (fractions.h)
 *	`a;b 10 12`	when every line ends in two numbers (difffolded.pl) the file has two types,
 *			"before" and "after"; after is shown first
 *	`a;b`		a line without a count is one sample (Pyroscope's `lines`)
 *	`# text`	a comment of the profile
 *	`f_[k]` …	the kind of frame, taken off the name: k kernel, j compiled at run time,
 *			i inlined, 0 and 1 Java (interpreted, first tier)
 *	`a;;b`		a frame without a name is left out, and noted
 *
 * Frames may contain blanks: the count is what follows the last one.
 */
#include <math.h>

#include "format/formats_internal.h"
#include "format/fractions.h"
#include "format/text_util.h"

struct folded_reader {
	struct reading *out;
	struct text_lines lines;
	struct profile *profile;
	struct stack_builder stack;
	struct text_memo frames;
	struct fractions fractions[2]; /* by column */
	bool two_columns;
};

/* Digits with an optional sign, fraction and exponent: what strtod takes, without its words. */
static bool is_number(struct str s)
{
	bool digit = false;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (text_is_digit(c))
			digit = true;
		else if (c == 'e' || c == 'E' ? !digit : c != '.' && c != '-' && c != '+')
			return false;
		else if ((c == '-' || c == '+') && i && s.p[i - 1] != 'e' && s.p[i - 1] != 'E')
			return false;
	}
	return digit;
}

/* Takes a number off the end of a line; false when the last word is not one. */
static bool take_number(struct str *line, struct str *ret)
{
	struct str s = *line;
	size_t at;

	while (s.n && text_is_space(s.p[s.n - 1]))
		s.n--;
	for (at = s.n; at && !text_is_space(s.p[at - 1]); at--)
		;
	if (!at || !is_number(str_skip(s, at)))
		return false;
	*ret = str_skip(s, at);
	*line = (struct str){s.p, at};
	return true;
}

static bool is_comment(struct str line)
{
	return line.n && line.p[0] == '#' && (line.n == 1 || text_is_space(line.p[1]));
}

/* Whether every line with a stack ends in two numbers. */
bool folded_has_two_columns(struct str bytes)
{
	struct text_lines lines;
	struct str line, number;
	bool any = false;

	text_lines_init(&lines, bytes);
	while (text_line(&lines, &line)) {
		if (!str_trim(line).n || is_comment(line))
			continue;
		if (!take_number(&line, &number) || !take_number(&line, &number) ||
		    !str_trim(line).n)
			return false;
		any = true;
	}
	return any;
}

static enum err parse_count(struct folded_reader *r, struct str text, uint32_t column, int64_t *ret)
{
	int64_t carry;
	double value;

	if (str_to_i64(text, ret) == ERR_OK)
		return ERR_OK;
	if (str_to_double(text, &value) != ERR_OK)
		return text_fault(&r->lines, r->out, ERR_CORRUPT, "the count \"%.*s\" is no number",
				  (int)(text.n < 40 ? text.n : 40), text.p);
	if (!(fabs(value) < 9.2e18))
		return text_fault(&r->lines, r->out, ERR_CORRUPT,
				  "the count \"%.*s\" does not fit in 64 bits",
				  (int)(text.n < 40 ? text.n : 40), text.p);
	*ret = (int64_t)floor(value);
	TRY(fractions_add(&r->fractions[column], r->profile->row_count, value - floor(value),
			  &carry));
	*ret += carry;
	return ERR_OK;
}

/* `_[k]` at the end of a name says what kind of frame it is. */
static enum err strip_annotation(struct dict *d, struct str *name, struct frame *frame)
{
	if (name->n <= 4 || !str_starts(str_skip(*name, name->n - 4), STR("_[")) ||
	    name->p[name->n - 1] != ']')
		return ERR_OK;
	switch (name->p[name->n - 2]) {
	case 'k':
		frame->kind = KIND_KERNEL;
		break;
	case 'j':
		TRY(dict_text(d, "jit", &frame->kind));
		break;
	case 'i':
		frame->flags |= FRAME_INLINED;
		break;
	case '0':
	case '1':
		frame->kind = KIND_JVM;
		break;
	default:
		return ERR_OK;
	}
	name->n -= 4;
	return ERR_OK;
}

static enum err intern_frame(struct folded_reader *r, struct str name, uint32_t *ret)
{
	struct frame frame = {.flags = FRAME_HAS_LINE};
	struct function function = {0};
	struct str bare = name;
	uint64_t hash;

	*ret = text_memo_get(&r->frames, r->out->dict, name, &hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(strip_annotation(r->out->dict, &bare, &frame));
	TRY(text_intern(r->out, bare, &function.name));
	TRY(dict_function(r->out->dict, &function, &frame.function));
	TRY(dict_frame(r->out->dict, &frame, ret));
	return text_memo_put(&r->frames, hash, name, *ret);
}

/* From the end of the line, because stacks are leaf first and only the root side may be cut. */
static enum err read_frames(struct folded_reader *r, struct str stack)
{
	stack_builder_reset(&r->stack);
	while (stack.n) {
		size_t at = str_rfind(stack, ';');
		struct str name = str_trim(at < stack.n ? str_skip(stack, at + 1) : stack);
		uint32_t frame;

		if (name.n && stack_builder_full(&r->stack, &r->out->limits)) {
			r->stack.cut = true;
			return ERR_OK;
		}
		if (name.n) {
			TRY(intern_frame(r, name, &frame));
			TRY(stack_builder_push(&r->stack, &r->out->limits, frame));
		} else {
			notes_add(&r->out->notes, "frames without a name were left out");
		}
		stack.n = at < stack.n ? at : 0;
	}
	return ERR_OK;
}

static enum err read_sample(struct folded_reader *r, struct str line)
{
	int64_t values[2] = {1, 0};
	struct row row = {0};
	struct str number;

	if (take_number(&line, &number)) {
		TRY(parse_count(r, number, r->two_columns, &values[r->two_columns]));
		if (r->two_columns && take_number(&line, &number))
			TRY(parse_count(r, number, 0, &values[0]));
	} else {
		notes_add(&r->out->notes, "lines without a count were counted as one sample each");
	}
	TRY(read_frames(r, str_trim(line)));
	TRY(stack_builder_finish(&r->stack, r->out, &row.stack));
	return text_add_row(r->out, r->profile, &row, values);
}

static enum err read_comment(struct folded_reader *r, struct str line)
{
	uint32_t text;

	line = str_trim(str_skip(line, 1));
	if (!line.n || r->profile->comments.n >= 1000)
		return ERR_OK;
	TRY(text_intern(r->out, line, &text));
	return vec_push(&r->profile->comments, text);
}

static enum err add_types(struct folded_reader *r)
{
	if (!r->two_columns)
		return profile_add_type(r->profile, STR("samples"), STR("count"));
	TRY(profile_add_type(r->profile, STR("before"), STR("count")));
	TRY(profile_add_type(r->profile, STR("after"), STR("count")));
	r->profile->default_type = 1;
	r->out->variant = "folded stacks with two counts";
	return ERR_OK;
}

static enum err read_lines(struct folded_reader *r, struct str bytes)
{
	struct str line;

	r->two_columns = folded_has_two_columns(bytes);
	TRY(profile_list_add(r->out->list, r->out->dict, &r->profile));
	TRY(add_types(r));
	text_lines_init(&r->lines, bytes);
	while (text_line(&r->lines, &line)) {
		if (!str_trim(line).n)
			continue;
		TRY(is_comment(line) ? read_comment(r, line) : read_sample(r, line));
		reading_tick(r->out, (size_t)(line.p - bytes.p), bytes.n);
	}
	for (uint32_t i = 0; i <= r->two_columns; i++)
		TRY(fractions_settle(&r->fractions[i], r->profile, i, &r->out->notes));
	return ERR_OK;
}

enum err folded_read(struct str bytes, struct reading *out)
{
	struct folded_reader r = {.out = out};
	enum err e = read_lines(&r, bytes);

	stack_builder_release(&r.stack);
	text_memo_release(&r.frames);
	fractions_release(&r.fractions[0]);
	fractions_release(&r.fractions[1]);
	return e;
}

/*
 * A page of HTML or an object of JSON, though frames begin like these too: `<module>` in Python,
 * `{closure}` and `{main}` in PHP. Those end in a count.
 */
static bool looks_like_markup(struct str line, bool counted)
{
	if (text_is_space(line.p[0]))
		return true;
	if (line.p[0] == '{')
		return !counted || line.n == 1 || line.p[1] == '"' || text_is_space(line.p[1]);
	return line.p[0] == '<' && !counted;
}

/* Certain of nothing: any text may be folded stacks, so every other text format goes first. */
int folded_sniff(struct str head)
{
	struct text_lines lines;
	struct str line, number;
	unsigned seen = 0, separated = 0, counted = 0;
	bool has_count;

	if (!text_looks_plain(head))
		return 0;
	text_lines_init(&lines, head);
	while (seen < 32 && text_line(&lines, &line)) {
		if (!str_trim(line).n || is_comment(line))
			continue;
		has_count = take_number(&line, &number);
		if (looks_like_markup(line, has_count))
			return 0;
		seen++;
		counted += has_count;
		separated += str_find(line, ';') < line.n;
	}
	if (!seen || (counted < seen && separated < seen))
		return 0;
	if (counted < seen)
		return 10;
	return separated ? 40 : 15;
}
