#include "symbols/dwarf_reader.h"

#define ORIGINS_MAX 8	       /* an entry that refers to an entry that refers to … */
#define ENTRIES_MAX (1u << 20) /* limit of entries of one function per lookup */

static enum err next_entry(struct byte_cursor *c, const struct dwarf_abbrevs *t,
			   const struct dwarf_abbrev **ret)
{
	uint64_t code = cursor_uleb(c);

	*ret = NULL;
	if (code) {
		*ret = dwarf_abbrev_find(t, code);
		if (!*ret)
			cursor_fail(c);
	}
	return c->bad ? ERR_CORRUPT : ERR_OK;
}

/* Types hold no code, and a compiler that says where they end saves most of the reading. */
static bool holds_no_code(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
}

/* Moves to the sibling an entry names; false when it names none that lies ahead. */
static bool jump_to_sibling(struct byte_cursor *c, const struct dwarf *d,
			    const struct dwarf_unit *u, const struct dwarf_value *sibling)
{
	uint64_t at = (uint64_t)(c->p - (const uint8_t *)d->s.info.p), to;

	if (!sibling->form || __builtin_add_overflow(u->offset, sibling->number, &to) || to < at ||
	    to > u->end)
		return false;
	c->p += to - at;
	return true;
}

struct add_function {
	const struct dwarf *d;
	struct dwarf_unit *u;
	uint32_t entry;
};

static enum err add_function(void *context, uint64_t start, uint64_t end)
{
	struct add_function *a = context;

	if (!dwarf_has_room(a->d, a->u->functions.n, sizeof(struct address_range)))
		return ERR_OK;
	return address_ranges_add(&a->u->functions,
				  (struct address_range){start, end, a->entry, 0});
}

/* One pass over all entries of the unit. */
static enum err walk_unit(struct dwarf *d, struct dwarf_unit *u, const struct dwarf_abbrevs *t)
{
	struct byte_cursor c = cursor_at(dwarf_unit_bytes(d, u), u->root);
	struct add_function add = {d, u, 0};
	const struct dwarf_abbrev *a;
	struct dwarf_entry e;
	size_t depth = 0;

	do {
		add.entry = (uint32_t)((uint64_t)(c.p - (const uint8_t *)d->s.info.p) - u->offset);
		if (next_entry(&c, t, &a))
			break; /* what was found until here is used */
		if (!a) {
			depth -= depth > 0;
			continue;
		}
		if (a->tag == DW_TAG_subprogram && a->has_code) {
			dwarf_read_attrs(&c, t, a, u, &e);
			TRY(dwarf_entry_ranges(d, u, &e, add_function, &add));
		} else if (a->children && a->has_sibling && holds_no_code(a->tag)) {
			dwarf_read_attrs(&c, t, a, u, &e);
			if (jump_to_sibling(&c, d, u, &e.sibling))
				continue;
		} else {
			dwarf_skip_attrs(&c, t, a, u);
		}
		depth += a->children;
	} while (depth && cursor_left(&c));
	return address_ranges_flatten(&u->functions);
}

static enum err index_functions(struct dwarf *d, struct dwarf_unit *u)
{
	const struct dwarf_abbrevs *t;
	enum err error;

	if (u->functions_known)
		return ERR_OK;
	TRY(dwarf_abbrevs_get(d, u, &t));
	error = walk_unit(d, u, t);
	if (error) {
		address_ranges_release(&u->functions);
		return error;
	}
	u->functions_known = true;
	d->touched += u->end - u->offset;
	d->memory += u->functions.cap * sizeof(*u->functions.v);
	return ERR_OK;
}

/* The calls around an address, outermost first: the function itself and what was inlined. */
struct call {
	uint64_t entry; /* offset in .debug_info */
	uint64_t file;
	uint32_t line, column;
};

struct call_chain {
	uint64_t address;
	struct raw_frames *validity;
	bool inside; /* the current entry contains the address */
	bool has_ranges;
	size_t n;
	struct call v[SYMBOL_FRAMES_MAX];
};

static enum err is_inside(void *context, uint64_t start, uint64_t end)
{
	struct call_chain *chain = context;

	chain->has_ranges = true;
	chain->inside |= chain->address >= start && chain->address < end;
	raw_frames_narrow(chain->validity, chain->address, start, end);
	return ERR_OK;
}

static void push_call(struct call_chain *chain, uint64_t entry, const struct dwarf_entry *e)
{
	if (chain->n == SYMBOL_FRAMES_MAX)
		return;
	chain->v[chain->n++] =
		(struct call){entry, e->call_file.number, (uint32_t)e->call_line.number,
			      (uint32_t)e->call_column.number};
}

static bool is_block(uint16_t tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/*
 * Follows the blocks and inlined calls that hold the address. What does not is passed over, by its
 * sibling if it names one. `skip` is the depth whose entries are passed over, 0 when none are.
 */
static enum err walk_function(struct dwarf *d, struct dwarf_unit *u, const struct dwarf_abbrevs *t,
			      struct byte_cursor c, struct call_chain *chain)
{
	size_t depth = 1, skip = 0, entered = 1, seen = 0;
	const struct dwarf_abbrev *a;
	struct dwarf_entry e;

	while (depth >= entered && cursor_left(&c) && seen++ < ENTRIES_MAX) {
		uint64_t at = (uint64_t)(c.p - (const uint8_t *)d->s.info.p);

		if (next_entry(&c, t, &a))
			break;
		if (!a) {
			depth--;
			if (skip > depth)
				skip = 0;
			continue;
		}
		if (skip || (!is_block(a->tag) && !(a->children && a->has_sibling))) {
			dwarf_skip_attrs(&c, t, a, u);
			depth += a->children;
			if (!skip && a->children)
				skip = depth;
			continue;
		}
		dwarf_read_attrs(&c, t, a, u, &e);
		chain->inside = chain->has_ranges = false;
		if (is_block(a->tag))
			TRY(dwarf_entry_ranges(d, u, &e, is_inside, chain));
		/* A block without ranges may hold some that have. */
		bool enter =
			chain->inside || (a->tag == DW_TAG_lexical_block && !chain->has_ranges);

		if (chain->inside && a->tag == DW_TAG_inlined_subroutine)
			push_call(chain, at, &e);
		if (!a->children || (!enter && jump_to_sibling(&c, d, u, &e.sibling)))
			continue;
		depth++;
		if (!enter)
			skip = depth;
		else if (chain->inside)
			entered = depth; /* no sibling can contain the address */
	}
	return ERR_OK;
}

/* Names and first line of the function of an entry, wherever they are said. */
static enum err describe(struct dwarf *d, uint64_t entry, struct raw_frame *ret)
{
	for (int i = 0; i < ORIGINS_MAX; i++) {
		struct dwarf_unit *u;
		const struct dwarf_abbrevs *t;
		const struct dwarf_abbrev *a;
		struct dwarf_entry e;
		struct byte_cursor c;

		TRY(dwarf_units_read(d, false)); /* of the alternate file */
		u = dwarf_unit_at(d, entry);
		if (!u)
			return ERR_OK;
		TRY(dwarf_unit_unpack(d, u));
		TRY(dwarf_abbrevs_get(d, u, &t));
		c = cursor_at(dwarf_unit_bytes(d, u), entry);
		if (next_entry(&c, t, &a) || !a)
			return ERR_OK;
		dwarf_read_attrs(&c, t, a, u, &e);
		if (!ret->name.n)
			ret->name = dwarf_string(d, u, &e.name);
		if (!ret->linkage.n)
			ret->linkage = dwarf_string(d, u, &e.linkage);
		if (!ret->start_line)
			ret->start_line = (uint32_t)e.decl_line.number;
		if ((ret->linkage.n && ret->start_line) ||
		    !dwarf_reference(d, u, e.origin.form ? &e.origin : &e.specification, &d,
				     &entry))
			return ERR_OK;
	}
	return ERR_OK;
}

enum err dwarf_function_frames(struct dwarf *d, struct dwarf_unit *u, uint64_t address,
			       struct raw_frames *ret)
{
	struct call_chain chain = {.address = address, .validity = ret};
	const struct address_range *function;
	const struct dwarf_abbrevs *t;
	const struct dwarf_abbrev *a;
	struct byte_cursor c;

	TRY(index_functions(d, u));
	function = address_ranges_find(&u->functions, address);
	if (!function)
		return ERR_OK;
	raw_frames_narrow(ret, address, function->start, function->end);
	push_call(&chain, u->offset + function->value, &(struct dwarf_entry){0});
	TRY(dwarf_abbrevs_get(d, u, &t));
	c = cursor_at(dwarf_unit_bytes(d, u), u->offset + function->value);
	if (!next_entry(&c, t, &a) && a) {
		dwarf_skip_attrs(&c, t, a, u);
		if (a->children)
			TRY(walk_function(d, u, t, c, &chain));
	}
	/* A call's place is where its function's caller stands. */
	for (size_t i = 0; i < chain.n; i++) {
		const struct call *call = &chain.v[chain.n - 1 - i];
		struct raw_frame *frame = &ret->v[i];

		*frame = (struct raw_frame){.inlined = i + 1 < chain.n};
		TRY(describe(d, call->entry, frame));
		if (i) {
			frame->line = call[1].line;
			frame->column = call[1].column;
			dwarf_line_path(d, u, call[1].file, frame);
		}
	}
	ret->n = chain.n;
	return ERR_OK;
}
