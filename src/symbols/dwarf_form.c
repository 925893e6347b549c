#include "symbols/dwarf_reader.h"

uint8_t dwarf_form_size(uint8_t form, const struct dwarf_unit *u)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return u->address_size;
	case DW_FORM_ref_addr:
		return u->version == 2 ? u->address_size : u->offset_size;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_line_strp:
	case FORM_GNU_ref_alt:
	case FORM_GNU_strp_alt:
		return u->offset_size;
	default:
		return ATTR_VARIES;
	}
}

/* The numbers of varying length; a block yields its length and is passed over. */
static uint64_t read_varying(struct byte_cursor *c, uint8_t form, struct str *ret_text)
{
	uint64_t size;

	switch (form) {
	case DW_FORM_string:
		*ret_text = cursor_text(c);
		return 0;
	case DW_FORM_sdata:
		return (uint64_t)cursor_sleb(c);
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case FORM_GNU_addr_index:
	case FORM_GNU_str_index:
		return cursor_uleb(c);
	case DW_FORM_block1:
		size = cursor_u8(c);
		break;
	case DW_FORM_block2:
		size = cursor_u16(c);
		break;
	case DW_FORM_block4:
		size = cursor_u32(c);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		size = cursor_uleb(c);
		break;
	default:
		cursor_fail(c);
		return 0;
	}
	cursor_skip(c, size);
	return size;
}

/* A value that says its own form; not two times in a row. */
static uint8_t indirect_form(struct byte_cursor *c)
{
	uint64_t form = cursor_uleb(c);

	if (!form || form > DW_FORM_addrx4 || form == DW_FORM_indirect ||
	    form == DW_FORM_implicit_const) {
		cursor_fail(c);
		return 0;
	}
	return (uint8_t)form;
}

static struct dwarf_value read_value(struct byte_cursor *c, const struct dwarf_attr *a,
				     const struct dwarf_unit *u)
{
	struct dwarf_value v = {.form = a->form};
	uint8_t size = a->size;

	if (v.form == DW_FORM_indirect) {
		v.form = indirect_form(c);
		size = dwarf_form_size(v.form, u);
	}
	if (v.form == DW_FORM_implicit_const)
		v.number = a->implicit;
	else if (v.form == DW_FORM_flag_present)
		v.number = 1;
	else if (v.form == DW_FORM_data16)
		cursor_skip(c, 16);
	else if (size == ATTR_VARIES)
		v.number = read_varying(c, v.form, &v.text);
	else
		v.number = cursor_sized(c, size);
	return v;
}

void dwarf_skip_attrs(struct byte_cursor *c, const struct dwarf_abbrevs *t,
		      const struct dwarf_abbrev *a, const struct dwarf_unit *u)
{
	const struct dwarf_attr *attr = t->attrs.v + a->first, *end = attr + a->count;
	struct str text;

	if (a->fixed != ABBREV_VARIES) {
		cursor_skip(c, a->fixed);
		return;
	}
	for (; attr < end; attr++) {
		if (attr->size != ATTR_VARIES)
			cursor_skip(c, attr->size);
		else if (attr->form == DW_FORM_indirect)
			(void)read_value(c, attr, u);
		else
			(void)read_varying(c, attr->form, &text);
	}
}

static struct dwarf_value *wanted(struct dwarf_entry *e, uint16_t name)
{
	switch (name) {
	case DW_AT_sibling:
		return &e->sibling;
	case DW_AT_name:
		return &e->name;
	case DW_AT_stmt_list:
		return &e->line;
	case DW_AT_low_pc:
		return &e->low_pc;
	case DW_AT_high_pc:
		return &e->high_pc;
	case DW_AT_comp_dir:
		return &e->directory;
	case DW_AT_abstract_origin:
		return &e->origin;
	case DW_AT_decl_line:
		return &e->decl_line;
	case DW_AT_specification:
		return &e->specification;
	case DW_AT_ranges:
		return &e->ranges;
	case DW_AT_call_column:
		return &e->call_column;
	case DW_AT_call_file:
		return &e->call_file;
	case DW_AT_call_line:
		return &e->call_line;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &e->linkage;
	case DW_AT_str_offsets_base:
		return &e->str_offsets_base;
	case DW_AT_addr_base:
		return &e->addr_base;
	case DW_AT_rnglists_base:
		return &e->rnglists_base;
	default:
		return NULL;
	}
}

void dwarf_read_attrs(struct byte_cursor *c, const struct dwarf_abbrevs *t,
		      const struct dwarf_abbrev *a, const struct dwarf_unit *u,
		      struct dwarf_entry *ret)
{
	*ret = (struct dwarf_entry){.abbrev = a};
	for (uint32_t i = 0; i < a->count && !c->bad; i++) {
		const struct dwarf_attr *attr = &t->attrs.v[a->first + i];
		struct dwarf_value value = read_value(c, attr, u), *place = wanted(ret, attr->name);

		if (place && !c->bad)
			*place = value;
	}
}

bool dwarf_address(const struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
		   uint64_t *ret)
{
	uint64_t offset;
	struct byte_cursor c;

	switch (v->form) {
	case DW_FORM_addr:
		*ret = v->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case FORM_GNU_addr_index:
		if (__builtin_mul_overflow(v->number, (uint64_t)u->address_size, &offset) ||
		    __builtin_add_overflow(offset, u->addr_base, &offset))
			return false;
		c = cursor_at(d->s.addr, offset);
		*ret = cursor_sized(&c, u->address_size);
		return !c.bad;
	default:
		return false;
	}
}

static struct str indexed_string(const struct dwarf *d, const struct dwarf_unit *u, uint64_t index)
{
	struct byte_cursor c;
	uint64_t offset;

	if (__builtin_mul_overflow(index, (uint64_t)u->offset_size, &offset) ||
	    __builtin_add_overflow(offset, u->str_offsets_base, &offset))
		return (struct str){"", 0};
	c = cursor_at(d->s.str_offsets, offset);
	offset = cursor_sized(&c, u->offset_size);
	return c.bad ? (struct str){"", 0} : text_at(d->s.str, offset);
}

struct str dwarf_string(const struct dwarf *d, const struct dwarf_unit *u,
			const struct dwarf_value *v)
{
	switch (v->form) {
	case DW_FORM_string:
		return v->text;
	case DW_FORM_strp:
		return text_at(d->s.str, v->number);
	case DW_FORM_line_strp:
		return text_at(d->s.line_str, v->number);
	case DW_FORM_strp_sup:
	case FORM_GNU_strp_alt:
		return d->alternate ? text_at(d->alternate->s.str, v->number) : (struct str){"", 0};
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case FORM_GNU_str_index:
		return indexed_string(d, u, v->number);
	default:
		return (struct str){"", 0};
	}
}

bool dwarf_reference(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
		     struct dwarf **ret_in, uint64_t *ret)
{
	*ret_in = d;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return !__builtin_add_overflow(u->offset, v->number, ret) && *ret < u->end;
	case DW_FORM_ref_addr:
		*ret = v->number;
		return *ret < d->s.info.n;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case FORM_GNU_ref_alt:
		*ret_in = d->alternate;
		*ret = v->number;
		return d->alternate && *ret < d->alternate->s.info.n;
	default:
		return false;
	}
}
