/*
 * Running a program over a text: the set of all states it can be in, one character after the
 * other. A state enters the set once per character, so the time is bounded by text × program.
 */
#include "base/alloc.h"
#include "model/regex_internal.h"

#define MAX_TEXT 8192

struct linear_regex {
	struct arena arena; /* of the ranges */
	struct regex_program program;
};

/* States in order of entry, and in which turn each entered last. */
struct state_set {
	uint16_t list[REGEX_MAX_PROGRAM];
	uint32_t n;
};

struct run {
	const struct regex_instruction *code;
	uint32_t entered[REGEX_MAX_PROGRAM];
	uint16_t pending[REGEX_MAX_PROGRAM + 1];
	struct state_set sets[2];
	struct str text;
	uint32_t turn;
};

enum err linear_regex_new(struct str source, struct linear_regex **ret, struct fault *fault)
{
	struct linear_regex *r = mem_zalloc(1, sizeof(*r));
	struct regex_node *root;
	enum err error;

	if (!r)
		return ERR_NO_MEMORY;
	arena_init(&r->arena, (size_t)16 << 20);
	error = regex_parse(source, &r->arena, &root, fault);
	if (error == ERR_OK)
		error = regex_compile(root, &r->program, fault);
	if (error != ERR_OK) {
		linear_regex_free(r);
		return error;
	}
	*ret = r;
	return ERR_OK;
}

void linear_regex_free(struct linear_regex *r)
{
	if (!r)
		return;
	vec_release(&r->program.code);
	arena_release(&r->arena);
	mem_free(r);
}

uint32_t regex_decode(struct str text, size_t at, size_t *ret_length)
{
	size_t length = utf8_length(str_skip(text, at));
	const unsigned char *p = (const unsigned char *)text.p + at;
	uint32_t c;

	*ret_length = length ? length : 1;
	if (length <= 1)
		return length ? *p : 0xfffd;
	c = *p & (0x7fu >> length);
	for (size_t i = 1; i < length; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

static bool in_ranges(const struct regex_instruction *i, uint32_t c)
{
	for (uint32_t k = 0; k < i->range_count; k++)
		if (c >= i->ranges[k].low && c <= i->ranges[k].high)
			return !i->negated;
	return i->negated;
}

static bool word_byte(struct str text, size_t at)
{
	unsigned char c = at < text.n ? (unsigned char)text.p[at] : 0;

	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool holds(enum regex_assertion assertion, struct str text, size_t at)
{
	bool edge = (at > 0 && word_byte(text, at - 1)) != word_byte(text, at);

	switch (assertion) {
	case AT_BEGIN:
		return at == 0;
	case AT_END:
		return at == text.n;
	case AT_WORD_EDGE:
		return edge;
	case AT_NO_WORD_EDGE:
		return !edge;
	}
	return false;
}

/* Enters a state and all that follow from it without reading a character. */
static void enter(struct run *r, struct state_set *set, uint32_t state, size_t at)
{
	uint32_t pending = 0;

	r->pending[pending++] = (uint16_t)state;
	while (pending) {
		state = r->pending[--pending];
		if (r->entered[state] == r->turn)
			continue;
		r->entered[state] = r->turn;
		const struct regex_instruction *i = &r->code[state];

		if (i->op == RUN_RANGES || i->op == RUN_MATCH) {
			set->list[set->n++] = (uint16_t)state;
			continue;
		}
		/* At most one more than what was taken off: `pending` cannot pass the number of
		 * states, because a state that was entered adds nothing again. */
		if (i->op == RUN_ASSERT && !holds(i->assertion, r->text, at))
			continue;
		if (i->op == RUN_SPLIT && r->entered[i->other] != r->turn)
			r->pending[pending++] = (uint16_t)i->other;
		if (r->entered[i->next] != r->turn)
			r->pending[pending++] = (uint16_t)i->next;
	}
}

static bool run(struct run *r)
{
	struct state_set *now = &r->sets[0], *next = &r->sets[1];
	size_t at = 0, length;

	now->n = 0;
	r->turn = 1;
	enter(r, now, 0, 0);
	for (; at < r->text.n && now->n; at += length) {
		uint32_t c = regex_decode(r->text, at, &length);
		struct state_set *swap = now;

		next->n = 0;
		r->turn++;
		for (uint32_t k = 0; k < now->n; k++) {
			const struct regex_instruction *i = &r->code[now->list[k]];

			if (i->op == RUN_RANGES && in_ranges(i, c))
				enter(r, next, i->next, at + length);
		}
		now = next;
		next = swap;
	}
	if (at < r->text.n)
		return false;
	for (uint32_t k = 0; k < now->n; k++)
		if (r->code[now->list[k]].op == RUN_MATCH)
			return true;
	return false;
}

enum err linear_regex_match(const struct linear_regex *regex, struct str text, bool *ret)
{
	struct run r;

	if (text.n > MAX_TEXT)
		return ERR_TOO_LARGE;
	r.code = regex->program.code.v;
	r.text = text;
	memset(r.entered, 0, regex->program.code.n * sizeof(*r.entered));
	*ret = run(&r);
	return ERR_OK;
}
