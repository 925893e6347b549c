#include "unwind/frame_info.h"

enum pointer_encoding {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_ABS = 0x00,
	PE_ULEB = 0x01,
	PE_U2 = 0x02,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_SLEB = 0x09,
	PE_S2 = 0x0a,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
	PE_RELATIVE = 0xf0,
	PE_PC = 0x10,
};

/* All CIEs seen have fewer than 64 bytes. Every FDE runs its CIE's program again: one long CIE
 * would make the reading of many FDEs endless. */
#define CIE_MAX_BYTES 256u

/* The address a place in the section is loaded at. */
static u64 address_of(const struct frame_section *s, const u8 *at)
{
	return s->part.address + (u64)(at - (const u8 *)s->part.bytes.p);
}

static u64 read_pointer(const struct frame_section *s, struct cursor *c, u8 encoding, bool relative)
{
	u64 here = address_of(s, c->at), value;

	switch (encoding & PE_FORM) {
	case PE_ULEB:
		value = cursor_uleb(c);
		break;
	case PE_SLEB:
		value = (u64)cursor_sleb(c);
		break;
	case PE_U2:
		value = cursor_fixed(c, 2);
		break;
	case PE_S2:
		value = (u64)(s64)(s16)cursor_fixed(c, 2);
		break;
	case PE_U4:
		value = cursor_fixed(c, 4);
		break;
	case PE_S4:
		value = (u64)(s64)(s32)cursor_fixed(c, 4);
		break;
	case PE_ABS:
	case PE_U8:
	case PE_S8:
		value = cursor_fixed(c, 8);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if (!relative)
		return value;
	/* Other relative or indirect encodings are not used for functions' addresses. */
	if ((encoding & PE_RELATIVE) == PE_PC)
		value += here;
	else if (encoding & PE_RELATIVE)
		c->bad = true;
	return value;
}

/* Length, 32 or 64 bits; the cursor then ends with the entry. False at the end of the section. */
static bool open_entry(const struct frame_section *s, u64 offset, struct cursor *ret,
		       bool *ret_wide, u64 *ret_next)
{
	struct cursor c = cursor_of(s->part.bytes);
	u64 length;

	*ret_next = 0;
	cursor_skip(&c, offset);
	length = cursor_fixed(&c, 4);
	*ret_wide = length == 0xffffffff;
	if (*ret_wide)
		length = cursor_fixed(&c, 8);
	if (c.bad || !length || length > (u64)(c.end - c.at))
		return false;
	c.end = c.at + length;
	*ret_next = (u64)(c.end - (const u8 *)s->part.bytes.p);
	*ret = c;
	return true;
}

static void read_augmentation(const struct frame_section *s, struct cursor *c, const char *text,
			      struct frame_cie *ret)
{
	u64 size = cursor_uleb(c);
	struct cursor data = *c;

	cursor_skip(c, size);
	if (c->bad)
		return;
	data.end = c->at;
	ret->augmented = true;
	for (text++; *text; text++) {
		switch (*text) {
		case 'R':
			ret->pointer_encoding = cursor_byte(&data);
			break;
		case 'P': {
			u8 encoding = cursor_byte(&data);

			read_pointer(s, &data, encoding, false);
			break;
		}
		case 'L':
			cursor_byte(&data);
			break;
		case 'S':
			ret->signal = true;
			break;
		default:
			break;
		}
	}
	if (data.bad)
		c->bad = true;
}

static bool read_cie(const struct frame_section *s, u64 offset, struct frame_cie *ret)
{
	struct frame_cie cie = {.pointer_encoding = s->debug ? PE_U8 : PE_ABS};
	struct cursor c;
	const char *text;
	bool wide;
	u64 next, id;
	u8 version;

	if (!open_entry(s, offset, &c, &wide, &next) || c.end - c.at > (ptrdiff_t)CIE_MAX_BYTES)
		return false;
	id = cursor_fixed(&c, s->debug && wide ? 8 : 4);
	if (id != (s->debug ? (wide ? UINT64_MAX : UINT32_MAX) : 0))
		return false;
	version = cursor_byte(&c);
	if (version != 1 && version != 3 && version != 4)
		return false;
	text = (const char *)c.at;
	while (!c.bad && cursor_byte(&c))
		;
	if (c.bad)
		return false;
	if (version == 4)
		cursor_skip(&c, 2);
	cie.code_align = cursor_uleb(&c);
	cie.data_align = cursor_sleb(&c);
	cie.ra_register = version == 1 ? cursor_byte(&c) : cursor_uleb(&c);
	if (*text == 'z')
		read_augmentation(s, &c, text, &cie);
	else if (*text)
		return false;
	if (c.bad)
		return false;
	cie.program = str_n(c.at, (size_t)(c.end - c.at));
	*ret = cie;
	return true;
}

/* Functions of one source follow each other and share theirs. */
static const struct frame_cie *cie_of(struct frame_section *s, u64 offset)
{
	if (s->cie_at != offset + 1) {
		s->cie_at = 0;
		if (!read_cie(s, offset, &s->cie))
			return NULL;
		s->cie_at = offset + 1;
	}
	return &s->cie;
}

void frame_entry(struct frame_section *s, u64 offset, struct frame_fde *ret, bool *ret_is_fde,
		 u64 *ret_next)
{
	const struct frame_cie *cie;
	struct cursor c;
	bool wide;
	u64 id, id_at;

	*ret_is_fde = false;
	if (!open_entry(s, offset, &c, &wide, ret_next))
		return;
	id_at = (u64)(c.at - (const u8 *)s->part.bytes.p);
	id = cursor_fixed(&c, s->debug && wide ? 8 : 4);
	if (s->debug ? id == (wide ? UINT64_MAX : UINT32_MAX) : id == 0)
		return;
	if (!s->debug && id > id_at)
		return;
	cie = cie_of(s, s->debug ? id : id_at - id);
	if (!cie || cie->pointer_encoding == PE_OMIT)
		return;
	ret->cie = cie;
	ret->start = read_pointer(s, &c, cie->pointer_encoding, true);
	ret->size = read_pointer(s, &c, cie->pointer_encoding, false);
	if (cie->augmented)
		cursor_skip(&c, cursor_uleb(&c));
	ret->program = str_n(c.at, (size_t)(c.end - c.at));
	*ret_is_fde = !c.bad;
}
