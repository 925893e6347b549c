/*
 * Code is followed: from every place where a function begins (it is called from here, the symbols
 * say so, or it is what comes behind the end of another), on and along its branches, with what is
 * known of the stack. What only a table of jumps leads to has the stack of the jump.
 */
#include "unwind/code_follow.h"

#include "base/vec.h"
#include "unwind/arch_x86_64.h"
#include "unwind/instruction.h"

/* Size of a return address. */
#define WORD	    8
/* Above what any function was seen to take; so nothing overflows. */
#define HEIGHT_MAX  (1 << 24)
/* Distance within which the first function of a thread is called. */
#define ROOT_CALLS  8
/* Branches of one function, and calls of all, that wait to be followed: above what any file has.
 * The rest is followed all the same, with less known about it. */
#define PENDING_MAX (1u << 18)

/* What is known of the stack before an instruction, all measured from where it was before the call
 * (the CFA) down. */
struct stack {
	s32 height;   /* to rsp; 0 = not known */
	s32 base;     /* to where rbp points; 0 = rbp is no frame's */
	s32 saved;    /* to the caller's rbp; 0 = it is still in rbp */
	bool root;    /* no caller */
	bool guessed; /* nothing leads here: it may not be so */
};

/* State from another path to this address. */
enum {
	MARK_BEGIN = 1,	 /* a function begins */
	MARK_BRANCH = 2, /* a branch leads here */
};

struct function {
	u32 at;
	bool by_table; /* it jumps by a table, with this stack */
	struct stack at_jump;
};

struct branch {
	struct function *of;
	u32 to;
	struct stack stack;
};

struct code {
	struct str bytes;
	u64 address;
	u16 *rules; /* by byte; 0 = never came here */
	u8 *marks;  /* by byte: MARK_... */
	u64 root;   /* where the program begins */
	struct unwind_rules *table;
	VEC(struct branch) branches; /* still to be followed */
	VEC(struct branch) returns;  /* from calls that may not come back, to be followed last */
	VEC(struct function) functions;
};

static const struct stack at_entry = {.height = WORD};
static const struct stack at_guessed = {.height = WORD, .guessed = true};

/* ------------------------------------------------------------------ one instruction */

static u32 long_rule(struct code *c, u8 number, s32 offset, s32 saved)
{
	struct unwind_rule rule = {.kind = UNWIND_REGISTER,
				   .cfa_register = number,
				   .rbp_saved = saved ? UNWIND_AT_CFA : UNWIND_SAME,
				   .cfa_offset = offset,
				   .rbp_offset = (s16)-saved};

	return saved > INT16_MAX ? UNWIND_RULE_NONE : unwind_rules_intern(c->table, &rule);
}

static u32 rule_of(struct code *c, const struct stack *s)
{
	/* A frame as all compilers make them holds when rsp moves in ways that are not followed; in
	 * others rbp may be a pointer to something else that lies there. */
	bool by_rsp = s->height && (s->base != 2 * WORD || s->saved != 2 * WORD);
	s32 offset = by_rsp ? s->height : s->base;

	if (s->root)
		return UNWIND_RULE_END;
	if (!offset)
		return UNWIND_RULE_NONE;
	if (offset > (s32)UNWIND_CFA_MAX || s->saved > (s32)UNWIND_SAVED_MAX ||
	    (offset | s->saved) % WORD)
		return long_rule(c, by_rsp ? ARCH_DWARF_RSP : ARCH_DWARF_RBP, offset, s->saved);
	return (by_rsp ? 0 : UNWIND_CFA_RBP) | (u32)(offset / WORD) << 5 | (u32)(s->saved / WORD);
}

static void grow(struct stack *s, s64 by)
{
	if (!s->height)
		return;
	/* The stack pointer cannot be below the return address at a return: the analysis is
	 * wrong. */
	if (by > HEIGHT_MAX || by < -HEIGHT_MAX || s->height + by < WORD ||
	    s->height + by > HEIGHT_MAX)
		s->height = 0;
	else
		s->height += (s32)by;
}

static void set_height(struct stack *s, s64 height)
{
	s->height = 0;
	if (height >= WORD && height <= HEIGHT_MAX)
		s->height = (s32)height;
}

static void apply(const struct instruction *i, struct stack *s)
{
	switch (i->kind) {
	case INSTRUCTION_PUSH:
		grow(s, WORD);
		break;
	case INSTRUCTION_PUSH_RBP:
		grow(s, WORD);
		if (!s->saved && !s->base)
			s->saved = s->height;
		break;
	case INSTRUCTION_POP:
		grow(s, -WORD);
		break;
	case INSTRUCTION_POP_RBP:
		grow(s, -WORD);
		s->base = s->saved = 0;
		break;
	case INSTRUCTION_MOVE_RSP:
		grow(s, -i->value);
		break;
	case INSTRUCTION_RBP_IS_RSP:
		/* Only who has put it aside may use it. */
		s->base = s->saved ? s->height : 0;
		break;
	case INSTRUCTION_RSP_IS_RBP:
		set_height(s, s->base ? s->base - i->value : 0);
		break;
	case INSTRUCTION_LEAVE:
		set_height(s, s->base ? s->base - WORD : 0);
		s->base = s->saved = 0;
		break;
	case INSTRUCTION_CLEAR_RBP:
	case INSTRUCTION_LOSE_RBP:
		s->base = 0;
		break;
	case INSTRUCTION_LOSE_RSP:
		s->height = 0;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ a function */

static bool inside(const struct code *c, u64 address)
{
	return address >= c->address && address - c->address < c->bytes.n;
}

static bool read_at(const struct code *c, u32 at, struct instruction *ret)
{
	return at < c->bytes.n && instruction_read(str_skip(c->bytes, at), c->address + at, ret);
}

static enum err branch_to(struct code *c, const struct branch *from, u64 target)
{
	u32 to = (u32)(target - c->address);

	/* Other functions are followed in their turn. */
	if (!inside(c, target) || c->rules[to] || c->marks[to] & MARK_BEGIN ||
	    c->branches.n == PENDING_MAX)
		return ERR_OK;
	return vec_push(&c->branches, ((struct branch){from->of, to, from->stack}));
}

/* So begin threads: the caller's rbp is cleared, nobody has put it aside, and right behind it
 * something is called that the thread was made for. */
static bool is_root(const struct code *c, u32 at, const struct stack *s)
{
	struct instruction i;

	if (s->saved || s->guessed || s->height != WORD)
		return false;
	for (u32 n = 0; n < ROOT_CALLS && read_at(c, at, &i); n++, at += i.length) {
		if (i.kind == INSTRUCTION_CALL)
			return !i.target;
		if (i.kind >= INSTRUCTION_JUMP && i.kind <= INSTRUCTION_RETURN)
			return false;
	}
	return false;
}

/* Behind a call: others lead there, too, or nothing but padding is there. If the call never comes
 * back (abort() does not) it is somebody else's, and their stack is the true one. */
static bool may_end_with(const struct code *c, u32 next)
{
	struct instruction i;

	return next < c->bytes.n && (c->marks[next] & MARK_BRANCH || !read_at(c, next, &i) ||
				     i.kind == INSTRUCTION_PADDING);
}

/* From one place on, to where it ends or joins what is known. */
static enum err follow_one(struct code *c, struct branch b)
{
	struct instruction i;
	u32 first = b.to;

	for (u32 at = b.to; read_at(c, at, &i) && !c->rules[at]; at += i.length) {
		/* A call that never comes back may be the last of a function. */
		if (at != first && c->marks[at] & MARK_BEGIN)
			return ERR_OK;
		if (i.kind == INSTRUCTION_CLEAR_RBP && is_root(c, at, &b.stack))
			b.stack.root = true;
		c->rules[at] = (u16)rule_of(c, &b.stack);
		apply(&i, &b.stack);
		if (i.kind == INSTRUCTION_JUMP || i.kind == INSTRUCTION_BRANCH)
			TRY(branch_to(c, &b, i.target));
		if (i.kind == INSTRUCTION_JUMP_FAR) {
			b.of->by_table = true;
			b.of->at_jump = b.stack;
		}
		if (i.kind == INSTRUCTION_JUMP || i.kind == INSTRUCTION_JUMP_FAR ||
		    i.kind == INSTRUCTION_RETURN)
			return ERR_OK;
		if (i.kind == INSTRUCTION_CALL && c->returns.n < PENDING_MAX &&
		    may_end_with(c, at + i.length))
			return vec_push(&c->returns,
					((struct branch){b.of, at + i.length, b.stack}));
	}
	return ERR_OK;
}

static enum err follow(struct code *c, struct branch b)
{
	TRY(follow_one(c, b));
	while (c->branches.n) {
		b = c->branches.v[--c->branches.n];
		TRY(follow_one(c, b));
	}
	return ERR_OK;
}

static enum err follow_function(struct code *c, struct function *f)
{
	struct stack s = at_entry;

	s.root = c->address + f->at == c->root;
	return follow(c, (struct branch){f, f->at, s});
}

static bool looks_like_beginning(const struct instruction *i)
{
	return i->kind == INSTRUCTION_PUSH || i->kind == INSTRUCTION_PUSH_RBP ||
	       (i->kind == INSTRUCTION_MOVE_RSP && i->value < 0);
}

/* Calls that came back after all. But what stands behind padding without a branch to it is the
 * next function. */
static enum err follow_returns(struct code *c)
{
	/* More may come while they are followed. */
	for (size_t n = 0; n < c->returns.n; n++) {
		struct branch b = c->returns.v[n];
		struct instruction i;
		u32 start = b.to;

		while (read_at(c, b.to, &i) && i.kind == INSTRUCTION_PADDING)
			b.to += i.length;
		if (b.to == start || (b.to < c->bytes.n && c->marks[b.to] & MARK_BRANCH))
			TRY(follow(c, b));
	}
	c->returns.n = 0;
	return ERR_OK;
}

/* Nothing leads here: another function, whose address is known elsewhere, or where a table of this
 * one leads to. */
static enum err follow_rest(struct code *c, struct function *f, u32 to)
{
	struct instruction i;

	for (u32 at = f->at; at < to; at += i.length) {
		if (!read_at(c, at, &i))
			i = (struct instruction){.kind = INSTRUCTION_PADDING, .length = 1};
		if (c->rules[at] || i.kind == INSTRUCTION_PADDING)
			continue;
		TRY(follow(c,
			   (struct branch){f, at,
					   f->by_table && !looks_like_beginning(&i) ? f->at_jump
										    : at_guessed}));
		TRY(follow_returns(c));
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ all functions */

static void mark(struct code *c, const struct code_starts *starts)
{
	struct instruction i;

	for (u32 at = 0; at < c->bytes.n; at += i.length) {
		if (!read_at(c, at, &i))
			i.length = 1;
		else if (i.target && inside(c, i.target) && i.kind != INSTRUCTION_CALL)
			c->marks[i.target - c->address] |= MARK_BRANCH;
	}
	for (size_t n = 0; n < starts->n; n++)
		if (inside(c, starts->v[n]))
			c->marks[starts->v[n] - c->address] |= MARK_BEGIN;
	if (inside(c, c->root))
		c->marks[c->root - c->address] |= MARK_BEGIN;
}

/* First all that something leads to, from wherever; then the rest. */
static enum err follow_all(struct code *c)
{
	for (u32 at = 0; at < c->bytes.n; at++)
		if (!at || c->marks[at] & MARK_BEGIN)
			TRY(vec_push(&c->functions, ((struct function){.at = at})));
	vec_for_each (f, &c->functions)
		TRY(follow_function(c, f));
	TRY(follow_returns(c));
	for (size_t i = 0; i < c->functions.n; i++)
		TRY(follow_rest(c, &c->functions.v[i],
				i + 1 < c->functions.n ? c->functions.v[i + 1].at
						       : (u32)c->bytes.n));
	return ERR_OK;
}

static void release(struct code *c)
{
	mem_free(c->marks);
	vec_release(&c->branches);
	vec_release(&c->returns);
	vec_release(&c->functions);
}

enum err code_follow(struct elf_part part, u64 root, const struct code_starts *starts,
		     struct unwind_rules *rules, u16 *ret)
{
	CLEANUP(release)
	struct code c = {.bytes = part.bytes,
			 .address = part.address,
			 .root = root,
			 .table = rules,
			 .rules = ret};

	c.marks = mem_zalloc(c.bytes.n, 1);
	if (!c.marks)
		return ERR_NO_MEMORY;
	mark(&c, starts);
	return follow_all(&c);
}
