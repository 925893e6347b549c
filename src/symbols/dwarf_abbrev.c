#include <stdlib.h>

#include "symbols/dwarf_reader.h"
#include "symbols/packed_section.h"

#define ABBREVS_MAX 65536
#define ATTRS_MAX   (1u << 20)

static uint8_t form_code(uint64_t form)
{
	switch (form) {
	case 0x1f01:
		return FORM_GNU_addr_index;
	case 0x1f02:
		return FORM_GNU_str_index;
	case 0x1f20:
		return FORM_GNU_ref_alt;
	case 0x1f21:
		return FORM_GNU_strp_alt;
	default:
		return form <= DW_FORM_addrx4 ? (uint8_t)form : 0;
	}
}

/* Everything a value's size depends on. */
static uint32_t shape_of(const struct dwarf_unit *u)
{
	return (uint32_t)u->version << 16 | (uint32_t)u->address_size << 8 | u->offset_size;
}

static enum err read_attrs(struct dwarf_abbrevs *t, struct byte_cursor *c,
			   const struct dwarf_unit *u, struct dwarf_abbrev *a)
{
	a->first = (uint32_t)t->attrs.n;
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct dwarf_attr attr = {.form = form_code(form)};

		if (c->bad || (!name && !form))
			break;
		if (attr.form == DW_FORM_implicit_const)
			attr.implicit = (uint32_t)cursor_sleb(c);
		if (!attr.form || t->attrs.n >= ATTRS_MAX) {
			cursor_fail(c); /* a form of unknown size cannot be skipped */
			break;
		}
		attr.name = name > UINT16_MAX ? 0 : (uint16_t)name;
		attr.size = dwarf_form_size(attr.form, u);
		a->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
		a->has_sibling |= name == DW_AT_sibling;
		if (attr.size == ATTR_VARIES)
			a->fixed = ABBREV_VARIES;
		else if (a->fixed != ABBREV_VARIES)
			a->fixed += attr.size;
		TRY(vec_push(&t->attrs, attr));
	}
	a->count = (uint32_t)t->attrs.n - a->first;
	return ERR_OK;
}

static int by_code(const void *pa, const void *pb)
{
	const struct dwarf_abbrev *a = pa, *b = pb;

	return a->code < b->code ? -1 : a->code > b->code;
}

enum err dwarf_abbrevs_read(struct dwarf_abbrevs *t, struct str section, const struct dwarf_unit *u,
			    uint64_t only_code)
{
	struct byte_cursor c = cursor_at(section, u->abbrevs);
	bool in_order = true;

	t->at = u->abbrevs;
	t->shape = shape_of(u);
	t->v.n = t->attrs.n = 0;
	while (!c.bad && t->v.n < ABBREVS_MAX) {
		struct dwarf_abbrev a = {.code = cursor_uleb(&c)};

		if (!a.code)
			break;
		a.tag = (uint16_t)cursor_uleb(&c);
		a.children = cursor_u8(&c);
		TRY(read_attrs(t, &c, u, &a));
		if (c.bad)
			break;
		in_order &= !t->v.n || t->v.v[t->v.n - 1].code < a.code;
		if (only_code && a.code != only_code) {
			t->attrs.n = a.first;
			continue;
		}
		TRY(vec_push(&t->v, a));
		if (only_code)
			break;
	}
	if (!in_order && t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), by_code);
	return ERR_OK;
}

void dwarf_abbrevs_release(struct dwarf_abbrevs *t)
{
	vec_release(&t->v);
	vec_release(&t->attrs);
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code)
{
	struct dwarf_abbrev key = {.code = code};

	/* Compilers number from 1 without gaps. */
	if (code - 1 < t->v.n && t->v.v[code - 1].code == code)
		return &t->v.v[code - 1];
	return t->v.n ? bsearch(&key, t->v.v, t->v.n, sizeof(key), by_code) : NULL;
}

enum err dwarf_abbrevs_get(struct dwarf *d, const struct dwarf_unit *u,
			   const struct dwarf_abbrevs **ret)
{
	struct dwarf_abbrevs *oldest = &d->kept[0];
	enum err error;

	for (size_t i = 0; i < ABBREVS_KEPT; i++) {
		struct dwarf_abbrevs *t = &d->kept[i];

		if (t->used && t->at == u->abbrevs && t->shape == shape_of(u)) {
			t->used = ++d->clock;
			*ret = t;
			return ERR_OK;
		}
		if (t->used < oldest->used)
			oldest = t;
	}
	/* The end of the table is unknown, so decompress all of it. */
	error = packed_section_need(d->s.packed_abbrev, 0, UINT64_MAX);
	if (!error)
		error = dwarf_abbrevs_read(oldest, d->s.abbrev, u, 0);
	oldest->used = error ? 0 : ++d->clock;
	if (!error)
		*ret = oldest;
	return error;
}
