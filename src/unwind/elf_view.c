#include "unwind/elf_view.h"

/* Programs have about 13; notes a few hundred bytes. */
#define PROGRAM_HEADERS_MAX 256u
#define NOTES_MAX_BYTES	    65536u

static bool slice(struct str file, u64 offset, u64 size, struct str *ret)
{
	if (offset > file.n || size > file.n - offset)
		return false;
	*ret = str_n(file.p + offset, size);
	return true;
}

enum err elf_view_open(struct str file, struct elf_view *ret, struct fault *fault)
{
	Elf64_Ehdr h;

	if (file.n < sizeof(h) || memcmp(file.p, ELFMAG, SELFMAG) != 0)
		return fault_set(fault, ERR_CORRUPT, "not an ELF file");
	memcpy(&h, file.p, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_machine != EM_X86_64)
		return fault_set(fault, ERR_UNSUPPORTED, "an ELF file for another machine");
	ret->file = file;
	ret->header = h;
	return ERR_OK;
}

bool elf_view_program_header(const struct elf_view *e, u32 n, Elf64_Phdr *ret)
{
	struct str bytes;

	if (n >= e->header.e_phnum || n >= PROGRAM_HEADERS_MAX ||
	    e->header.e_phentsize != sizeof(*ret) ||
	    !slice(e->file, e->header.e_phoff, (u64)e->header.e_phnum * sizeof(*ret), &bytes))
		return false;
	memcpy(ret, bytes.p + (size_t)n * sizeof(*ret), sizeof(*ret));
	return true;
}

/* With 65,280 sections and more the true numbers are in the first section's header. */
static bool section_header(const struct elf_view *e, u64 n, Elf64_Shdr *ret)
{
	u64 at;

	if (!e->header.e_shoff || e->header.e_shentsize != sizeof(*ret) ||
	    __builtin_mul_overflow(n, sizeof(*ret), &at) ||
	    __builtin_add_overflow(at, e->header.e_shoff, &at))
		return false;
	struct str bytes;

	if (!slice(e->file, at, sizeof(*ret), &bytes))
		return false;
	memcpy(ret, bytes.p, sizeof(*ret));
	return true;
}

bool elf_view_section(const struct elf_view *e, const char *name, struct elf_part *ret)
{
	u64 count = e->header.e_shnum, names_index = e->header.e_shstrndx;
	Elf64_Shdr first, names, s;
	struct str text;
	size_t wanted = strlen(name) + 1;

	if (!section_header(e, 0, &first))
		return false;
	if (!count)
		count = first.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = first.sh_link;
	if (!section_header(e, names_index, &names) ||
	    !slice(e->file, names.sh_offset, names.sh_size, &text))
		return false;
	for (u64 i = 1; i < count && section_header(e, i, &s); i++) {
		if (s.sh_name >= text.n || text.n - s.sh_name < wanted ||
		    memcmp(text.p + s.sh_name, name, wanted) != 0)
			continue;
		if (s.sh_type == SHT_NOBITS || s.sh_flags & SHF_COMPRESSED ||
		    !slice(e->file, s.sh_offset, s.sh_size, &ret->bytes))
			return false;
		ret->address = s.sh_addr;
		return true;
	}
	return false;
}

static bool code_section(const struct elf_view *e, u32 n, struct elf_part *ret)
{
	Elf64_Shdr s;

	for (u32 i = 1; i < e->header.e_shnum && section_header(e, i, &s); i++) {
		if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_EXECINSTR) ||
		    s.sh_flags & SHF_COMPRESSED ||
		    !slice(e->file, s.sh_offset, s.sh_size, &ret->bytes) || n-- > 0)
			continue;
		ret->address = s.sh_addr;
		return true;
	}
	return false;
}

bool elf_view_code(const struct elf_view *e, u32 n, struct elf_part *ret)
{
	Elf64_Phdr p;
	Elf64_Shdr s;

	if (section_header(e, 1, &s))
		return code_section(e, n, ret);
	for (u32 i = 0; elf_view_program_header(e, i, &p); i++) {
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    !slice(e->file, p.p_offset, p.p_filesz, &ret->bytes) || n-- > 0)
			continue;
		ret->address = p.p_vaddr;
		return true;
	}
	return false;
}

bool elf_view_bytes_at(const struct elf_view *e, u64 address, struct elf_part *ret)
{
	Elf64_Phdr p;

	for (u32 i = 0; elf_view_program_header(e, i, &p); i++) {
		struct str bytes;

		if (p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz ||
		    !slice(e->file, p.p_offset, p.p_filesz, &bytes))
			continue;
		ret->bytes = str_skip(bytes, address - p.p_vaddr);
		ret->address = address;
		return true;
	}
	return false;
}

/* Notes: u32 name size, u32 content size, u32 type, then both, each padded to 4 bytes. */
static void find_build_id(struct str notes, struct unwind_image *ret)
{
	while (notes.n >= 12) {
		u32 head[3];
		u64 name, content;

		memcpy(head, notes.p, sizeof(head));
		name = ((u64)head[0] + 3) & ~3ull;
		content = ((u64)head[1] + 3) & ~3ull;
		notes = str_skip(notes, 12);
		if (name > notes.n || content > notes.n - name)
			return;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && !memcmp(notes.p, "GNU", 4)) {
			ret->build_id_size =
				head[1] < UNWIND_BUILD_ID_SIZE ? head[1] : UNWIND_BUILD_ID_SIZE;
			memcpy(ret->build_id, notes.p + name, ret->build_id_size);
			return;
		}
		notes = str_skip(notes, name + content);
	}
}

enum err unwind_image_read(struct str file, struct unwind_image *ret, struct fault *fault)
{
	struct unwind_image image = {0};
	struct elf_view e;
	struct elf_part part;
	Elf64_Phdr p;

	TRY(elf_view_open(file, &e, fault));
	image.entry = e.header.e_entry;
	for (u32 i = 0; elf_view_program_header(&e, i, &p); i++) {
		struct str bytes;

		if (p.p_type == PT_LOAD && p.p_flags & PF_X && image.load_count < UNWIND_LOADS_MAX)
			image.loads[image.load_count++] =
				(struct unwind_load){p.p_offset, p.p_vaddr, p.p_filesz};
		if (p.p_type == PT_NOTE && !image.build_id_size && p.p_filesz <= NOTES_MAX_BYTES &&
		    slice(file, p.p_offset, p.p_filesz, &bytes))
			find_build_id(bytes, &image);
	}
	image.go = elf_view_section(&e, ".gopclntab", &part) ||
		   elf_view_section(&e, ".data.rel.ro.gopclntab", &part);
	*ret = image;
	return ERR_OK;
}

struct unwind_load unwind_image_span(const struct unwind_image *image)
{
	struct unwind_load span = {0};
	u64 end = 0;

	for (u32 i = 0; i < image->load_count; i++) {
		const struct unwind_load *load = &image->loads[i];

		if (!i || load->address < span.address) {
			span.address = load->address;
			span.file_offset = load->file_offset;
		}
		if (load->address + load->size > end)
			end = load->address + load->size;
	}
	span.size = end - span.address;
	return span;
}
