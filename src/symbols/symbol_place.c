/*
 * From addresses of a mapping to those of the file.
 *
 * The kernel maps a segment: an address less the mapping's begin, plus its offset, is a place in
 * the file, which the program headers turn into an address. Profilers that count all processes
 * together write one mapping that spans the file as it lies in memory, from its lowest address on;
 * between its segments, addresses and places in the file need not run alike.
 */
#include "symbols/symbol_file.h"

struct extent {
	const struct elf_segment *lowest; /* NULL: nothing of the file is loaded */
	uint64_t size;
};

static struct extent extent_of(const struct elf_image *e)
{
	struct extent x = {0};
	uint64_t end = 0;

	vec_for_each (s, &e->segments) {
		if (s->type != PT_LOAD)
			continue;
		if (!x.lowest || s->vaddr < x.lowest->vaddr)
			x.lowest = s;
		if (s->vaddr + s->memory_size > end)
			end = s->vaddr + s->memory_size;
	}
	if (x.lowest && end > x.lowest->vaddr)
		x.size = end - x.lowest->vaddr;
	return x;
}

bool symbol_file_mapped_to_vaddr(const struct symbol_file *f, const struct symbol_mapping *m,
				 uint64_t address, uint64_t *ret)
{
	struct extent x = extent_of(&f->program.image);
	uint64_t place = address - m->start + m->offset;

	if (!m->limit || !x.lowest) {
		*ret = address;
		return true;
	}
	if (address < m->start || address >= m->limit)
		return false;
	if (m->limit - m->start < x.size && elf_offset_to_vaddr(&f->program.image, place, ret))
		return true;
	/* The whole of it; or a debug file, whose headers no longer say what lies where: most
	 * linkers let places and addresses run alike. */
	*ret = place - x.lowest->offset + x.lowest->vaddr;
	return true;
}
