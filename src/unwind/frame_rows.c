/*
 * The programs of CIEs and FDEs: run once, turned into rules. Only what leads to the caller's rsp,
 * rbp and return address is kept.
 */
#include "unwind/arch_x86_64.h"
#include "unwind/frame_info.h"

enum { PRIMARY_ADVANCE = 1, PRIMARY_OFFSET = 2, PRIMARY_RESTORE = 3 };

enum instruction {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d,
	CFA_DEF_OFFSET = 0x0e,
	CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_SF = 0x12,
	CFA_DEF_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET = 0x2f,
};

enum operation {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

enum place { PLACE_SAME, PLACE_CFA, PLACE_EXPRESSION, PLACE_REGISTER, PLACE_UNDEFINED };

struct saved {
	enum place place;
	s64 offset; /* or the number of a register */
	struct str expression;
};

struct state {
	u64 cfa_register;
	s64 cfa_offset;
	struct str cfa_expression;
	struct saved rbp, ra;
};

#define REMEMBERED_MAX 16

struct machine {
	const struct frame_fde *fde;
	struct state now, initial, remembered[REMEMBERED_MAX];
	u32 depth;
	u64 address;
	u32 last_rule;
	bool broken; /* from here on nothing is known */
	struct unwind_rules *rules;
	void *context;
	void (*row)(void *context, u64 address, u32 rule);
};

/* "register + offset", alone or read from memory, with something added. */
static bool simple_expression(struct str e, struct unwind_rule *ret)
{
	struct cursor c = cursor_of(e);
	u8 op = (u8)cursor_fixed(&c, 1);
	s64 offset = cursor_sleb(&c), add = 0;

	if (c.bad || op < OP_BREG0 || op >= OP_BREG0 + ARCH_REGISTERS - 1 || offset < INT32_MIN ||
	    offset > INT32_MAX)
		return false;
	ret->kind = UNWIND_REGISTER;
	ret->cfa_register = op - OP_BREG0;
	ret->cfa_offset = (s32)offset;
	if (c.at == c.end)
		return true;
	if (cursor_fixed(&c, 1) != OP_DEREF)
		return false;
	if (c.at < c.end) {
		if (cursor_fixed(&c, 1) != OP_PLUS_UCONST)
			return false;
		add = (s64)cursor_uleb(&c);
	}
	ret->kind = UNWIND_DEREF;
	ret->cfa_add = (s16)add;
	return !c.bad && c.at == c.end && add >= 0 && add <= INT16_MAX;
}

/*
 * The expression of linkers for the PLT: rsp + 8 + ((rip & 15) >= N) * 8. N is the offset at which
 * an entry has pushed its index.
 */
static bool plt_expression(struct str e, struct unwind_rule *ret)
{
	static const u8 begin[] =
		{OP_BREG0 + ARCH_DWARF_RSP, 8, OP_BREG0 + ARCH_DWARF_RA, 0, OP_LIT0 + 15, OP_AND},
			end[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	u8 limit;

	if (e.n != sizeof(begin) + 1 + sizeof(end) || memcmp(e.p, begin, sizeof(begin)) != 0 ||
	    memcmp(e.p + sizeof(begin) + 1, end, sizeof(end)) != 0)
		return false;
	limit = (u8)e.p[sizeof(begin)];
	if (limit < OP_LIT0 || limit > OP_LIT0 + 15)
		return false;
	ret->kind = UNWIND_PLT;
	ret->cfa_offset = limit - OP_LIT0;
	return true;
}

static bool short_rule(const struct state *s, u32 *ret)
{
	u64 saved = 0;

	if (s->cfa_expression.n || s->ra.place != PLACE_CFA || s->ra.offset != -8 ||
	    (s->cfa_register != ARCH_DWARF_RSP && s->cfa_register != ARCH_DWARF_RBP) ||
	    s->cfa_offset < 0 || s->cfa_offset > (s64)UNWIND_CFA_MAX || s->cfa_offset % 8)
		return false;
	if (s->rbp.place == PLACE_CFA) {
		if (s->rbp.offset >= 0 || s->rbp.offset < -(s64)UNWIND_SAVED_MAX ||
		    s->rbp.offset % 8)
			return false;
		saved = (u64)-s->rbp.offset / 8;
	} else if (s->rbp.place != PLACE_SAME) {
		return false;
	}
	*ret = (s->cfa_register == ARCH_DWARF_RBP ? UNWIND_CFA_RBP : 0) |
	       (u32)(s->cfa_offset / 8) << 5 | (u32)saved;
	return true;
}

static bool fits16(s64 value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static bool long_rbp(const struct saved *s, struct unwind_rule *ret)
{
	struct unwind_rule e = {0};

	if (s->place == PLACE_CFA && fits16(s->offset)) {
		ret->rbp_saved = UNWIND_AT_CFA;
		ret->rbp_offset = (s16)s->offset;
		return true;
	}
	if (s->place == PLACE_EXPRESSION && simple_expression(s->expression, &e) &&
	    e.kind == UNWIND_REGISTER && e.cfa_register == ARCH_DWARF_RBP && fits16(e.cfa_offset)) {
		ret->rbp_saved = UNWIND_AT_REGISTER;
		ret->rbp_offset = (s16)e.cfa_offset;
		return true;
	}
	/* The rule of rbp is missing or not supported: leave it, because most callers do not need
	 * it. */
	return s->place != PLACE_CFA;
}

static u32 state_rule(const struct machine *m)
{
	const struct state *s = &m->now;
	struct unwind_rule r = {.kind = UNWIND_REGISTER};
	u32 rule;

	if (m->broken)
		return UNWIND_RULE_NONE;
	if (s->ra.place == PLACE_UNDEFINED)
		return UNWIND_RULE_END;
	if (m->fde->cie->signal)
		return UNWIND_RULE_SIGNAL;
	if (short_rule(s, &rule))
		return rule;
	if (s->cfa_expression.n) {
		if (!simple_expression(s->cfa_expression, &r) &&
		    !plt_expression(s->cfa_expression, &r))
			return UNWIND_RULE_NONE;
	} else {
		if (s->cfa_register >= ARCH_REGISTERS || s->cfa_offset < INT32_MIN ||
		    s->cfa_offset > INT32_MAX)
			return UNWIND_RULE_NONE;
		r.cfa_register = (u8)s->cfa_register;
		r.cfa_offset = (s32)s->cfa_offset;
	}
	if (s->ra.place == PLACE_REGISTER && s->ra.offset < ARCH_DWARF_RA) {
		r.ra_saved = UNWIND_IN_REGISTER;
		r.ra_offset = (s16)s->ra.offset;
	} else if (s->ra.place == PLACE_CFA && fits16(s->ra.offset)) {
		r.ra_saved = s->ra.offset == -8 ? UNWIND_SAME : UNWIND_AT_CFA;
		r.ra_offset = s->ra.offset == -8 ? 0 : (s16)s->ra.offset;
	} else {
		return UNWIND_RULE_NONE;
	}
	if (!long_rbp(&s->rbp, &r))
		return UNWIND_RULE_NONE;
	return unwind_rules_intern(m->rules, &r);
}

static void emit(struct machine *m)
{
	u32 rule = state_rule(m);

	if (rule == m->last_rule || m->address >= m->fde->start + m->fde->size)
		return;
	m->last_rule = rule;
	m->row(m->context, m->address, rule);
}

static void advance(struct machine *m, u64 delta)
{
	u64 end = m->fde->start + m->fde->size;

	if (!delta || !m->row)
		return;
	emit(m);
	/* An address outside the function ends its program. */
	if (__builtin_mul_overflow(delta, m->fde->cie->code_align, &delta) ||
	    delta > end - m->address)
		delta = end - m->address;
	m->address += delta;
}

static struct saved *register_of(struct machine *m, struct state *s, u64 number)
{
	if (number == ARCH_DWARF_RBP)
		return &s->rbp;
	return number == m->fde->cie->ra_register ? &s->ra : NULL;
}

static void save(struct machine *m, u64 number, enum place place, s64 offset, struct str expression)
{
	struct saved *s = register_of(m, &m->now, number);

	if (s)
		*s = (struct saved){place, offset, expression};
}

static void restore(struct machine *m, u64 number)
{
	struct saved *s = register_of(m, &m->now, number);

	if (s)
		*s = *register_of(m, &m->initial, number);
}

static struct str block(struct cursor *c)
{
	u64 size = cursor_uleb(c);
	const u8 *at = c->at;

	cursor_skip(c, size);
	return c->bad ? (struct str){0} : str_n(at, size);
}

static void define_cfa(struct machine *m, u64 number, s64 offset)
{
	m->now.cfa_register = number;
	m->now.cfa_offset = offset;
	m->now.cfa_expression = (struct str){0};
}

static s64 factored(const struct machine *m, s64 n)
{
	s64 product;

	return __builtin_mul_overflow(n, m->fde->cie->data_align, &product) ? INT64_MAX : product;
}

/* Instructions about where a register is; false when it is none of them. */
static bool run_register(struct machine *m, u8 op, struct cursor *c)
{
	u64 number;

	if (op < CFA_OFFSET_EXTENDED ||
	    (op > CFA_REGISTER && op != CFA_EXPRESSION && op != CFA_OFFSET_EXTENDED_SF &&
	     op != CFA_VAL_OFFSET && op != CFA_VAL_OFFSET_SF && op != CFA_VAL_EXPRESSION &&
	     op != CFA_NEGATIVE_OFFSET))
		return false;
	number = cursor_uleb(c);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		save(m, number, PLACE_CFA, factored(m, (s64)cursor_uleb(c)), (struct str){0});
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		save(m, number, PLACE_CFA, factored(m, cursor_sleb(c)), (struct str){0});
		return true;
	case CFA_NEGATIVE_OFFSET:
		save(m, number, PLACE_CFA, factored(m, -(s64)(cursor_uleb(c) & INT64_MAX)),
		     (struct str){0});
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(m, number);
		return true;
	case CFA_UNDEFINED:
		save(m, number, PLACE_UNDEFINED, 0, (struct str){0});
		return true;
	case CFA_SAME_VALUE:
		save(m, number, PLACE_SAME, 0, (struct str){0});
		return true;
	case CFA_REGISTER:
		save(m, number, PLACE_REGISTER, (s64)(cursor_uleb(c) & INT64_MAX), (struct str){0});
		return true;
	case CFA_EXPRESSION:
		save(m, number, PLACE_EXPRESSION, 0, block(c));
		return true;
	case CFA_VAL_EXPRESSION:
		save(m, number, PLACE_EXPRESSION, 0, (block(c), (struct str){0}));
		return true;
	default: /* value offsets: not used for rbp or the return address */
		cursor_uleb(c);
		return true;
	}
}

static void run_other(struct machine *m, u8 op, struct cursor *c)
{
	u64 number;

	switch (op) {
	case CFA_NOP:
		return;
	case CFA_ADVANCE1:
		advance(m, cursor_fixed(c, 1));
		return;
	case CFA_ADVANCE2:
		advance(m, cursor_fixed(c, 2));
		return;
	case CFA_ADVANCE4:
		advance(m, cursor_fixed(c, 4));
		return;
	case CFA_REMEMBER:
		if (m->depth < REMEMBERED_MAX)
			m->remembered[m->depth++] = m->now;
		else
			c->bad = true;
		return;
	case CFA_RESTORE_STATE:
		if (m->depth)
			m->now = m->remembered[--m->depth];
		else
			c->bad = true;
		return;
	case CFA_DEF:
		number = cursor_uleb(c);
		define_cfa(m, number, (s64)(cursor_uleb(c) & INT64_MAX));
		return;
	case CFA_DEF_SF:
		number = cursor_uleb(c);
		define_cfa(m, number, factored(m, cursor_sleb(c)));
		return;
	case CFA_DEF_REGISTER:
		define_cfa(m, cursor_uleb(c), m->now.cfa_offset);
		return;
	case CFA_DEF_OFFSET:
		m->now.cfa_offset = (s64)(cursor_uleb(c) & INT64_MAX);
		return;
	case CFA_DEF_OFFSET_SF:
		m->now.cfa_offset = factored(m, cursor_sleb(c));
		return;
	case CFA_DEF_EXPRESSION:
		m->now.cfa_expression = block(c);
		return;
	case CFA_ARGS_SIZE:
		cursor_uleb(c);
		return;
	default: /* set_loc and what is not known: the rest cannot be trusted */
		c->bad = true;
		return;
	}
}

static void run(struct machine *m, struct str program)
{
	struct cursor c = cursor_of(program);

	while (c.at < c.end && !c.bad) {
		u8 byte = cursor_byte(&c), low = byte & 0x3f;

		switch (byte >> 6) {
		case PRIMARY_ADVANCE:
			advance(m, low);
			break;
		case PRIMARY_OFFSET:
			save(m, low, PLACE_CFA, factored(m, (s64)(cursor_uleb(&c) & INT64_MAX)),
			     (struct str){0});
			break;
		case PRIMARY_RESTORE:
			restore(m, low);
			break;
		default:
			if (!run_register(m, low, &c))
				run_other(m, low, &c);
			break;
		}
	}
	m->broken |= c.bad;
}

void frame_rows(const struct frame_fde *fde, struct unwind_rules *rules, void *context,
		void (*row)(void *context, u64 address, u32 rule))
{
	struct machine m = {.fde = fde,
			    .address = fde->start,
			    .last_rule = UINT32_MAX,
			    .rules = rules,
			    .context = context};

	m.now.cfa_register = ARCH_DWARF_RSP;
	m.now.cfa_offset = 8;
	run(&m, fde->cie->program);
	m.initial = m.now;
	m.row = row;
	if (!m.broken)
		run(&m, fde->program);
	emit(&m);
}
