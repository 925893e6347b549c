/*
 * From the entries of a file to its table (unwind_format.h). Entries are sorted by address first;
 * then rows are written page after page, each page's block complete before the next begins.
 */
#include "unwind/unwind.h"

#include <stdlib.h>

#include "base/vec.h"
#include "unwind/code_rows.h"
#include "unwind/frame_info.h"
#include "unwind/go_rows.h"
#include "unwind/table_writer.h"

/* A module's addresses end below 4 GiB: its page table then has at most 65,536 entries. */
#define ADDRESS_MAX UINT32_MAX
#define ENTRIES_MAX 4000000u
#define SMALL_GAP   16u

/* A function: an entry of .eh_frame at an offset, or the n-th of Go's table. */
struct entry {
	u32 start, end;
	u64 at;
	bool go;
};

struct entries {
	VEC(struct entry) list;
};

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->go != y->go)
		return x->go ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static enum err add_entry(struct entries *out, u64 start, u64 end, u64 at, bool go)
{
	if (!start || start >= end || end > ADDRESS_MAX)
		return ERR_OK;
	if (out->list.n >= ENTRIES_MAX)
		return ERR_TOO_LARGE;
	return vec_push(&out->list, ((struct entry){(u32)start, (u32)end, at, go}));
}

static enum err collect(struct frame_section *s, struct entries *out)
{
	for (u64 offset = 0, next; offset < s->part.bytes.n; offset = next) {
		struct frame_fde fde;
		bool is_fde;

		frame_entry(s, offset, &fde, &is_fde, &next);
		if (is_fde && fde.size < ADDRESS_MAX && fde.start < ADDRESS_MAX)
			TRY(add_entry(out, fde.start, fde.start + fde.size, offset, false));
		if (!next)
			break;
	}
	return ERR_OK;
}

static enum err collect_go(const struct go_table *go, struct entries *out)
{
	u64 start, end;

	for (u32 i = 0; i < go->count; i++)
		if (go_function(go, i, &start, &end))
			TRY(add_entry(out, start, end, i, true));
	return ERR_OK;
}

static void write_fde(struct frame_section *s, u64 offset, struct unwind_rules *rules,
		      struct table_writer *w)
{
	struct frame_fde fde;
	bool is_fde;
	u64 next;

	frame_entry(s, offset, &fde, &is_fde, &next);
	if (is_fde)
		frame_rows(&fde, rules, w, table_writer_row);
}

/* Most linkers leave them in order. */
static void sort(struct entries *e)
{
	size_t i = 1;

	while (i < e->list.n && by_start(&e->list.v[i - 1], &e->list.v[i]) <= 0)
		i++;
	if (i < e->list.n)
		qsort(e->list.v, e->list.n, sizeof(*e->list.v), by_start);
}

/* Code without unwind information: its calls must be known before it is analysed. */
static enum err read_gaps(struct code_map *code, const struct entries *e)
{
	u64 end = 0;

	vec_for_each (entry, &e->list) {
		if (entry->start < end)
			continue;
		if (entry->start - end >= SMALL_GAP)
			TRY(code_calls(code, end, entry->start));
		end = entry->end;
	}
	return code_calls(code, end, ADDRESS_MAX);
}

/* Between two entries: analyse the code. */
static void write_gap(struct code_map *code, u64 from, u64 to, struct table_writer *w)
{
	enum err e;

	table_writer_row(w, from, UNWIND_RULE_NONE);
	e = code_rows(code, from, to, w, table_writer_row);
	if (e && !w->error)
		w->error = e;
}

/*
 * `root` is the entry point of program or loader: it has no caller, although some files do not say
 * so, and others (the loader) have no entry for it.
 */
static void write_entries(struct code_map *code, struct frame_section *s, const struct go_table *go,
			  struct entries *e, struct table_writer *w)
{
	u64 end = 0, root = code->view->header.e_entry;

	vec_for_each (entry, &e->list) {
		bool root_before = root >= end && root < entry->start;

		/* Two entries for one address: the first one counts. */
		if (entry->start < end)
			continue;
		if (w->error)
			return;
		if (entry->start - end >= SMALL_GAP)
			write_gap(code, end, entry->start, w);
		else if (root_before)
			table_writer_row(w, root, UNWIND_RULE_END);
		if (root >= entry->start && root < entry->end)
			table_writer_row(w, entry->start, UNWIND_RULE_END);
		else if (entry->go)
			go_function_rows(go, (u32)entry->at, w, table_writer_row);
		else
			write_fde(s, entry->at, code->rules, w);
		end = entry->end;
	}
	write_gap(code, end, ADDRESS_MAX, w);
}

/* .eh_frame by its section, or through the index that the loader uses when sections are gone. */
static bool find_eh_frame(const struct elf_view *e, struct elf_part *ret)
{
	Elf64_Phdr p;

	if (elf_view_section(e, ".eh_frame", ret))
		return ret->bytes.n > 0;
	for (u32 i = 0; elf_view_program_header(e, i, &p); i++) {
		struct elf_part header;
		u8 head[8];
		s32 relative;

		if (p.p_type != PT_GNU_EH_FRAME || !elf_view_bytes_at(e, p.p_vaddr, &header) ||
		    header.bytes.n < sizeof(head))
			continue;
		memcpy(head, header.bytes.p, sizeof(head));
		/* Version 1, and the pointer to .eh_frame in the form all linkers write. */
		if (head[0] != 1 || head[1] != 0x1b)
			continue;
		memcpy(&relative, head + 4, sizeof(relative));
		return elf_view_bytes_at(e, p.p_vaddr + 4 + (u64)(s64)relative, ret);
	}
	return false;
}

enum err unwind_table_build(struct str file, struct unwind_rules *rules, struct unwind_table *ret,
			    struct fault *fault)
{
	CLEANUP(table_writer_release) struct table_writer w = {0};
	struct frame_section s = {0};
	struct entries entries = {0};
	struct go_table go = {0};
	struct code_map code;
	struct elf_view view;
	enum err e = ERR_OK;

	TRY(elf_view_open(file, &view, fault));
	table_writer_init(&w);
	/* Go programs describe their own functions only here; C code linked in has .eh_frame. */
	if (go_table_open(&view, &go))
		e = collect_go(&go, &entries);
	if (!e && find_eh_frame(&view, &s.part))
		e = collect(&s, &entries);
	if (!e && !entries.list.n && elf_view_section(&view, ".debug_frame", &s.part)) {
		s.debug = true;
		e = collect(&s, &entries);
	}
	code_map_open(&view, rules, &code);
	if (!e) {
		sort(&entries);
		e = read_gaps(&code, &entries);
	}
	if (!e)
		write_entries(&code, &s, &go, &entries, &w);
	code_map_release(&code);
	vec_release(&entries.list);
	return e ? fault_set(fault, e, "the unwinding information cannot be read")
		 : table_writer_finish(&w, ret);
}

void unwind_table_release(struct unwind_table *t)
{
	mem_free(t->pages);
	buf_release(&t->blocks);
	*t = (struct unwind_table){0};
}
