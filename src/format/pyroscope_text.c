#include "format/pyroscope.h"

#include "base/hash.h"
#include "format/text_util.h"

#define BUDGET_MIN 1000000
#define BUDGET_MAX 256000000

enum err pyroscope_rows_init(struct pyroscope_rows *r, struct reading *out, struct str bytes)
{
	uint64_t budget = BUDGET_MIN + 32 * (uint64_t)bytes.n;

	*r = (struct pyroscope_rows){.out = out,
				     .budget = budget < BUDGET_MAX ? budget : BUDGET_MAX};
	TRY(profile_list_add(out->list, out->dict, &r->profile));
	return profile_add_type(r->profile, STR("samples"), STR("count"));
}

void pyroscope_rows_release(struct pyroscope_rows *r)
{
	map_release(&r->index);
}

enum err pyroscope_rows_spend(struct pyroscope_rows *r, size_t n)
{
	if (n > r->budget)
		return fault_set(&r->out->fault, ERR_TOO_LARGE,
				 "stacks expand to far more than an honest file has");
	r->budget -= n;
	return ERR_OK;
}

static enum err too_large(struct pyroscope_rows *r)
{
	return fault_set(&r->out->fault, ERR_CORRUPT,
			 "the count of a stack does not fit in 63 bits");
}

enum err pyroscope_rows_add(struct pyroscope_rows *r, const uint32_t *frames, size_t n,
			    uint64_t value)
{
	int64_t amount = (int64_t)value;
	struct row row = {0};
	uint64_t hash;

	TRY(pyroscope_rows_spend(r, n));
	if (value > INT64_MAX)
		return too_large(r);
	TRY(dict_stack(r->out->dict, frames, (uint32_t)n, &row.stack));
	hash = hash_mix(row.stack ^ r->out->dict->seed, r->out->dict->seed);
	MAP_PROBE(&r->index, hash, i)
	{
		int64_t *at = r->profile->values + i;

		if (r->profile->stack[i] != row.stack)
			continue;
		return __builtin_add_overflow(*at, amount, at) ? too_large(r) : ERR_OK;
	}
	TRY(map_put(&r->index, hash, (uint32_t)r->profile->row_count));
	return text_add_row(r->out, r->profile, &row, &amount);
}

enum err pyroscope_frame(struct reading *out, struct str name, uint32_t *ret)
{
	struct frame frame = {.flags = FRAME_HAS_LINE};
	struct function function = {0};

	TRY(text_intern(out, name, &function.name));
	TRY(dict_function(out->dict, &function, &frame.function));
	return dict_frame(out->dict, &frame, ret);
}

struct text_reader {
	struct pyroscope_rows rows;
	struct text_lines lines;
	struct stack_builder stack;
	struct text_memo frames;
};

static enum err frame_of(struct text_reader *r, struct str name, uint32_t *ret)
{
	struct reading *out = r->rows.out;
	uint64_t hash;

	*ret = text_memo_get(&r->frames, out->dict, name, &hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(pyroscope_frame(out, name, ret));
	return text_memo_put(&r->frames, hash, name, *ret);
}

/* From the end, because stacks are leaf first. */
static enum err add_stack(struct text_reader *r, struct str stack, uint64_t value)
{
	const struct limits *limits = &r->rows.out->limits;
	uint32_t frame;

	stack_builder_reset(&r->stack);
	while (stack.n && !stack_builder_full(&r->stack, limits)) {
		size_t at = str_rfind(stack, ';');
		struct str name = at < stack.n ? str_skip(stack, at + 1) : stack;

		if (name.n) {
			TRY(frame_of(r, name, &frame));
			TRY(stack_builder_push(&r->stack, limits, frame));
		}
		stack.n = at < stack.n ? at : 0;
	}
	if (stack.n)
		notes_add(&r->rows.out->notes, "a stack deeper than %u frames was cut at its root",
			  limits->max_depth);
	if (!r->stack.frames.n || !value)
		return ERR_OK;
	return pyroscope_rows_add(&r->rows, r->stack.frames.v, r->stack.frames.n, value);
}

static enum err read_group(struct text_reader *r, struct str line)
{
	size_t blank = str_rfind(line, ' ');
	struct str count = str_skip(line, blank + 1);
	int64_t value;

	if (!str_trim(line).n)
		return ERR_OK;
	if (blank == line.n) {
		/* Like Pyroscope, skip it. */
		notes_add(&r->rows.out->notes, "a line without a count was left out");
		return ERR_OK;
	}
	if (str_to_i64(count, &value) != ERR_OK)
		return text_fault(&r->lines, r->rows.out, ERR_CORRUPT,
				  "the count \"%.*s\" is no number",
				  (int)(count.n < 40 ? count.n : 40), count.p);
	if (value < 0)
		return text_fault(&r->lines, r->rows.out, ERR_CORRUPT, "the count is negative");
	return add_stack(r, str_n(line.p, blank), (uint64_t)value);
}

static enum err read_text(struct str bytes, struct reading *out, bool counted)
{
	struct text_reader r = {0};
	struct str line;
	enum err e = pyroscope_rows_init(&r.rows, out, bytes);

	text_lines_init(&r.lines, bytes);
	while (!e && text_line(&r.lines, &line))
		e = counted ? read_group(&r, line) : add_stack(&r, line, 1);
	pyroscope_rows_release(&r.rows);
	stack_builder_release(&r.stack);
	text_memo_release(&r.frames);
	return e;
}

enum err pyroscope_groups_read(struct str bytes, struct reading *out)
{
	return read_text(bytes, out, true);
}

enum err pyroscope_lines_read(struct str bytes, struct reading *out)
{
	return read_text(bytes, out, false);
}
