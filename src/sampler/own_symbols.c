#include "sampler/own_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

#define MAX_PROGRAM   ((size_t)1 << 30)
#define MAX_SYMBOLS   ((size_t)1 << 20)
#define MAX_NAME      ((size_t)200)
#define MAX_ALL_NAMES ((size_t)64 << 20)

/* ------------------------------------------------------------------ reading ELF */

/* Copies a structure out of the file; false when it is not all inside. */
static bool take(struct str elf, uint64_t at, void *ret, size_t size)
{
	if (at > elf.n || elf.n - at < size)
		return false;
	memcpy(ret, elf.p + at, size);
	return true;
}

static bool section(struct str elf, const Elf64_Ehdr *head, uint64_t index, Elf64_Shdr *ret)
{
	return index < head->e_shnum && head->e_shentsize == sizeof(*ret) &&
	       take(elf, head->e_shoff + index * sizeof(*ret), ret, sizeof(*ret));
}

/* The bytes of a section, empty when they are not in the file. */
static struct str contents(struct str elf, const Elf64_Shdr *s)
{
	if (s->sh_type == SHT_NOBITS || s->sh_offset > elf.n || elf.n - s->sh_offset < s->sh_size)
		return (struct str){0};
	return str_n(elf.p + s->sh_offset, s->sh_size);
}

/* ".part.0", ".constprop.0", ".lto_priv.0": the same function to a reader. */
static struct str plain_name(struct str name)
{
	size_t dot = str_find(str_skip(name, 1), '.') + 1;

	if (dot < name.n)
		name.n = dot;
	if (name.n > MAX_NAME)
		name.n = MAX_NAME;
	return name;
}

static enum err add_symbol(struct own_symbols *s, const Elf64_Sym *symbol, struct str strings)
{
	struct own_symbol one = {.start = symbol->st_value, .name = (uint32_t)s->names.n};
	struct str name;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
	    symbol->st_name >= strings.n || symbol->st_shndx == SHN_UNDEF ||
	    __builtin_add_overflow(symbol->st_value, symbol->st_size, &one.end))
		return ERR_OK;
	name = str_skip(strings, symbol->st_name);
	name.n = strnlen(name.p, name.n);
	if (!name.n || s->list.n == MAX_SYMBOLS || s->names.n > MAX_ALL_NAMES)
		return ERR_OK;
	name = plain_name(name);
	TRY(vec_append(&s->names, name.p, name.n));
	TRY(vec_push(&s->names, '\0'));
	return vec_push(&s->list, one);
}

static int by_start(const void *a, const void *b)
{
	const struct own_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static enum err add_table(struct own_symbols *s, struct str table, struct str strings)
{
	Elf64_Sym symbol;

	for (uint64_t at = 0; take(table, at, &symbol, sizeof(symbol)); at += sizeof(symbol))
		TRY(add_symbol(s, &symbol, strings));
	return ERR_OK;
}

enum err own_symbols_parse(struct own_symbols *s, struct str elf)
{
	Elf64_Ehdr head;
	Elf64_Shdr table, strings;

	if (!take(elf, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shoff > elf.n)
		return ERR_OK;
	for (uint64_t i = 0; section(elf, &head, i, &table); i++)
		if (table.sh_type == SHT_SYMTAB && section(elf, &head, table.sh_link, &strings))
			TRY(add_table(s, contents(elf, &table), contents(elf, &strings)));
	if (s->list.n)
		qsort(s->list.v, s->list.n, sizeof(*s->list.v), by_start);
	return ERR_OK;
}

/* ------------------------------------------------------------------ this process */

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
	struct own_symbols *s = context;

	(void)size;
	s->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && s->base + p->p_vaddr + p->p_memsz > s->limit)
			s->limit = s->base + p->p_vaddr + p->p_memsz;
	}
	return 1;
}

enum err own_symbols_load(struct own_symbols *s, struct fault *fault)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT(MAX_PROGRAM);

	dl_iterate_phdr(find_program, s);
	TRY(file_read("/proc/self/exe", &program, fault));
	return own_symbols_parse(s, buf_view(&program));
}

void own_symbols_release(struct own_symbols *s)
{
	vec_release(&s->list);
	vec_release(&s->names);
}

static const struct own_symbol *find(const struct own_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->list.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list.v[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < s->list.v[low - 1].end ? &s->list.v[low - 1] : NULL;
}

static struct str name_of_file(const char *path, char text[SYMBOL_TEXT])
{
	struct str file = str_of(path);
	size_t slash = str_rfind(file, '/');

	if (slash < file.n)
		file = str_skip(file, slash + 1);
	snprintf(text, SYMBOL_TEXT, "[%.200s]", file.p);
	return str_of(text);
}

struct str own_symbols_find(const struct own_symbols *s, uintptr_t address, char text[SYMBOL_TEXT])
{
	const struct own_symbol *own = NULL;
	Dl_info info = {0};

	if (address >= s->base && address < s->limit)
		own = find(s, address - s->base);
	if (own)
		return str_of(s->names.v + own->name);
	if (!dladdr((void *)address, &info) || !info.dli_fname)
		return STR("[unknown]");
	if (!info.dli_sname)
		return name_of_file(info.dli_fname, text);
	snprintf(text, SYMBOL_TEXT, "%.200s", info.dli_sname);
	return plain_name(str_of(text));
}
