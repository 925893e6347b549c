#include "unwind/code_rows.h"

#include <stdlib.h>

#include "unwind/code_follow.h"
#include "unwind/instruction.h"

/* Three bytes are kept for each of the code's. */
#define CODE_MAX      ((size_t)16 << 20)
#define FUNCTIONS_MAX (1u << 20)
/* So much code that nothing is said about, and which keeps rbp once in so many bytes, was made by a
 * compiler that does, and perhaps one that jumps from function to function with a frame: V8's
 * built-in functions in node are a megabyte. */
#define LARGE	      (64u << 10)
#define KEEPS_RBP     4096u

void code_map_open(const struct elf_view *e, struct unwind_rules *rules, struct code_map *ret)
{
	struct elf_part part;
	u64 end = 0;

	*ret = (struct code_map){.view = e, .rules = rules};
	for (u32 i = 0; ret->part_count < CODE_PARTS_MAX && elf_view_code(e, i, &part); i++) {
		/* Must be sorted, as in every linked file. */
		if (part.address < end || part.bytes.n > UINT32_MAX - part.address)
			continue;
		end = part.address + part.bytes.n;
		ret->parts[ret->part_count++] = part;
	}
}

void code_map_release(struct code_map *m)
{
	vec_release(&m->silent);
	vec_release(&m->functions);
}

/* ------------------------------------------------------------------ kinds of code */

/* Most code without unwind information is padding between functions. */
static bool is_padding(struct elf_part code)
{
	struct instruction i;

	while (instruction_read(code.bytes, code.address, &i) && i.kind == INSTRUCTION_PADDING)
		code.bytes = str_skip(code.bytes, i.length);
	while (code.bytes.n && !code.bytes.p[0])
		code.bytes = str_skip(code.bytes, 1);
	return !code.bytes.n;
}

/* push rbp; mov rbp, rsp */
static bool keeps_rbp(struct str code)
{
	static const char forms[2][4] = {"\x55\x48\x89\xe5", "\x55\x48\x8b\xec"};
	const char *p = code.p, *end = code.p + code.n;
	size_t found = 0;

	if (code.n < LARGE)
		return false;
	while ((p = memchr(p, forms[0][0], (size_t)(end - p))) && end - p >= 4) {
		found += !memcmp(p, forms[0], 4) || !memcmp(p, forms[1], 4);
		p++;
	}
	return found > code.n / KEEPS_RBP;
}

static bool is_followed(struct str code)
{
	return code.n <= CODE_MAX && !keeps_rbp(code);
}

/* The part of the n-th stretch of code that lies between two addresses; false when there is none.
 */
static bool part_between(const struct code_map *m, u32 n, u64 from, u64 to, struct elf_part *ret)
{
	const struct elf_part *p = &m->parts[n];
	u64 start = p->address > from ? p->address : from;
	u64 end = p->address + p->bytes.n < to ? p->address + p->bytes.n : to;

	if (start >= end)
		return false;
	ret->bytes = str_n(p->bytes.p + (start - p->address), end - start);
	ret->address = start;
	return !is_padding(*ret);
}

/* ------------------------------------------------------------------ where functions begin */

static bool is_silent(const struct code_map *m, u64 address)
{
	size_t low = 0, high = m->silent.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->silent.v[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->silent.n && address >= m->silent.v[low].start;
}

static enum err add_function(struct code_map *m, u64 address)
{
	return m->functions.n < FUNCTIONS_MAX ? vec_push(&m->functions, address) : ERR_TOO_LARGE;
}

enum err code_calls(struct code_map *m, u64 from, u64 to)
{
	struct elf_part part;

	for (u32 n = 0; n < m->part_count; n++) {
		struct instruction i;

		if (!part_between(m, n, from, to, &part) || !is_followed(part.bytes))
			continue;
		TRY(vec_push(&m->silent,
			     ((struct code_range){part.address, part.address + part.bytes.n})));
		for (u64 at = 0; at < part.bytes.n; at += i.length) {
			if (!instruction_read(str_skip(part.bytes, at), part.address + at, &i))
				i.length = 1;
			else if (i.kind == INSTRUCTION_CALL && i.target)
				TRY(add_function(m, i.target));
		}
	}
	return ERR_OK;
}

static enum err add_symbols(struct code_map *m, const char *section)
{
	struct elf_part part;

	if (!elf_view_section(m->view, section, &part))
		return ERR_OK;
	for (size_t at = 0; part.bytes.n - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, part.bytes.p + at, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && is_silent(m, symbol.st_value))
			TRY(add_function(m, symbol.st_value));
	}
	return ERR_OK;
}

static int by_address(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Once, when the first code is found that needs it. */
static enum err sort_functions(struct code_map *m)
{
	if (m->sorted)
		return ERR_OK;
	TRY(add_symbols(m, ".symtab"));
	TRY(add_symbols(m, ".dynsym"));
	if (m->functions.n)
		qsort(m->functions.v, m->functions.n, sizeof(*m->functions.v), by_address);
	m->sorted = true;
	return ERR_OK;
}

static struct code_starts functions_from(const struct code_map *m, u64 from, u64 to)
{
	size_t low = 0, high = m->functions.n, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->functions.v[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < m->functions.n && m->functions.v[end] < to;)
		end++;
	return end > low ? (struct code_starts){m->functions.v + low, end - low}
			 : (struct code_starts){0};
}

/* ------------------------------------------------------------------ rows */

static enum err rows_of_code(struct code_map *m, struct elf_part part, void *context,
			     void (*row)(void *context, u64 address, u32 rule))
{
	struct code_starts starts;
	u16 *rules;
	enum err e;

	TRY(sort_functions(m));
	starts = functions_from(m, part.address, part.address + part.bytes.n);
	rules = mem_zalloc(part.bytes.n, sizeof(*rules));
	if (!rules)
		return ERR_NO_MEMORY;
	e = code_follow(part, m->view->header.e_entry, &starts, m->rules, rules);
	for (size_t at = 0; !e && at < part.bytes.n; at++)
		if (rules[at])
			row(context, part.address + at, rules[at]);
	mem_free(rules);
	return e;
}

enum err code_rows(struct code_map *m, u64 from, u64 to, void *context,
		   void (*row)(void *context, u64 address, u32 rule))
{
	struct elf_part part;

	for (u32 n = 0; n < m->part_count; n++) {
		if (!part_between(m, n, from, to, &part))
			continue;
		if (is_followed(part.bytes))
			TRY(rows_of_code(m, part, context, row));
		else
			row(context, part.address, UNWIND_RULE_FRAME_POINTER);
		row(context, part.address + part.bytes.n, UNWIND_RULE_NONE);
	}
	return ERR_OK;
}
