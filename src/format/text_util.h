/*
 * What readers of text formats share: lines with their place for error messages, names made clean,
 * a memo from a piece of input to the id it became, and stacks that are cut when too deep.
 */
#pragma once

#include "format/format.h"

/* Walks lines; a CR before the line end is not part of the line. */
struct text_lines {
	struct str all;
	size_t at;	/* where the next line begins */
	size_t line_at; /* where the current line begins */
	size_t number;	/* of the current line, from 1 */
};

void text_lines_init(struct text_lines *t, struct str all);
bool text_line(struct text_lines *t, struct str *ret);
/* Sets `out->fault` to "line N (byte M): …". */
enum err text_fault(const struct text_lines *t, struct reading *out, enum err code,
		    const char *format, ...) PRINTF_LIKE(4, 5);

/* s itself when it is valid UTF-8 without NUL, else a copy in `scratch` with U+FFFD in place of
 * every byte that is not. */
struct str utf8_clean(struct str s, struct buf *scratch);
/* Interns a name as it stands in the file: cleaned (noted), and within limits.max_string. */
enum err text_intern(struct reading *out, struct str s, uint32_t *ret) MUST_CHECK;

/* From a slice of the input to an id. The input must outlive the memo. */
struct text_memo_entry {
	struct str text;
	uint32_t id;
};

struct text_memo {
	VEC(struct text_memo_entry) entries;
	struct map index;
};

void text_memo_release(struct text_memo *m);
/* The id kept for `text`, or MAP_NONE; `ret_hash` is for text_memo_put. */
uint32_t text_memo_get(const struct text_memo *m, const struct dict *d, struct str text,
		       uint64_t *ret_hash);
enum err text_memo_put(struct text_memo *m, uint64_t hash, struct str text, uint32_t id) MUST_CHECK;

/* Frames leaf first; past limits.max_depth the root side is left out and noted. */
struct stack_builder {
	VEC(uint32_t) frames;
	bool cut;
};

void stack_builder_release(struct stack_builder *b);
void stack_builder_reset(struct stack_builder *b);
static inline bool stack_builder_full(const struct stack_builder *b, const struct limits *limits)
{
	return b->frames.n >= limits->max_depth;
}
enum err stack_builder_push(struct stack_builder *b, const struct limits *limits,
			    uint32_t frame) MUST_CHECK;
enum err stack_builder_finish(struct stack_builder *b, struct reading *out,
			      uint32_t *ret) MUST_CHECK;

/* A row, unless the file has more than limits.max_samples. */
enum err text_add_row(struct reading *out, struct profile *p, const struct row *row,
		      const int64_t *values) MUST_CHECK;
enum err text_label(struct reading *out, struct str key, struct str value,
		    uint32_t *ret) MUST_CHECK;
enum err text_label_int(struct dict *d, struct str key, int64_t value, struct str unit,
			uint32_t *ret) MUST_CHECK;
/* Whether the beginning of the bytes has no byte that text does not have. */
bool text_looks_plain(struct str head);

static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool text_is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* Splits off the next word between blanks; false when there is none. */
bool text_word(struct str *rest, struct str *ret);
/* Hexadecimal with or without 0x. */
bool text_hex(struct str s, uint64_t *ret);
