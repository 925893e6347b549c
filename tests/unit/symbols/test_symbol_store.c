/* Files by build id: what is kept, what is refused, what goes when there is too much; and fetching.
 */
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "symbols/symbols.h"
#include "test.h"

/* ---- a small ELF file: a segment, a build id, one symbol ---- */

#define ID_BYTES 8

struct small {
	Elf64_Ehdr head;
	Elf64_Phdr code;
	struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[ID_BYTES];
	} note;
	Elf64_Sym symbols[2];
	char names[16];
	char sections[64];
	Elf64_Shdr tables[6];
	char filler[256];
};

static void small_fill(struct small *s, unsigned char id, bool debug)
{
	static const char sections[] = "\0.text\0.note\0.symtab\0.strtab\0.shstrtab";

	*s = (struct small){
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct small, code),
			 .e_shoff = offsetof(struct small, tables),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 6,
			 .e_shstrndx = 5},
		.code = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = 0,
			 .p_vaddr = 0x1000,
			 .p_filesz = debug ? 0 : sizeof(*s),
			 .p_memsz = sizeof(*s)},
		.note = {.head = {4, ID_BYTES, NT_GNU_BUILD_ID}, .name = "GNU"},
		.symbols = {{0},
			    {.st_name = 1,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = 1,
			     .st_value = 0x1000,
			     .st_size = 64}},
		.names = "\0known",
	};
	memset(s->note.id, id, ID_BYTES);
	memcpy(s->sections, sections, sizeof(sections));
	s->tables[1] = (Elf64_Shdr){.sh_name = 1,
				    .sh_type = debug ? SHT_NOBITS : SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = 0x1000,
				    .sh_size = 64};
	s->tables[2] = (Elf64_Shdr){.sh_name = 7,
				    .sh_type = SHT_NOTE,
				    .sh_flags = SHF_ALLOC,
				    .sh_offset = offsetof(struct small, note),
				    .sh_size = sizeof(s->note)};
	s->tables[3] = (Elf64_Shdr){.sh_name = 13,
				    .sh_type = SHT_SYMTAB,
				    .sh_offset = offsetof(struct small, symbols),
				    .sh_size = sizeof(s->symbols),
				    .sh_link = 4,
				    .sh_entsize = sizeof(Elf64_Sym)};
	s->tables[4] = (Elf64_Shdr){.sh_name = 21,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = offsetof(struct small, names),
				    .sh_size = sizeof(s->names)};
	s->tables[5] = (Elf64_Shdr){.sh_name = 29,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = offsetof(struct small, sections),
				    .sh_size = sizeof(s->sections)};
}

/* "0101010101010101" */
static struct str id_text(unsigned char id, char text[BUILD_ID_TEXT_MAX + 1])
{
	unsigned char bytes[ID_BYTES];

	memset(bytes, id, sizeof(bytes));
	build_id_text(str_n(bytes, sizeof(bytes)), text);
	return str_of(text);
}

/* ---- a folder ---- */

struct place {
	char path[200];
	struct symbol_store *store;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void place_close(struct place *p)
{
	symbol_store_free(p->store);
	nftw(p->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum err place_open(struct place *p, uint64_t max_file, uint64_t max_size, bool drops)
{
	const char *tmp = getenv("TMPDIR");
	char below[300];

	p->store = NULL;
	snprintf(p->path, sizeof(p->path), "%s/vestal-store-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(p->path))
		return ERR_IO;
	snprintf(below, sizeof(below), "%s/a/b", p->path);
	return symbol_store_new(&(struct symbol_store_options){.folder = below,
							       .max_file = max_file,
							       .max_size = max_size,
							       .drops = drops},
				&p->store, NULL);
}

static enum err put(struct symbol_store *s, const void *bytes, size_t n, struct str wanted,
		    struct symbol_item *ret, struct fault *fault)
{
	char path[400];
	int fd;
	enum err e;

	TRY(symbol_store_begin(s, &fd, path, sizeof(path), fault));
	e = write_all(fd, bytes, n);
	if (!e)
		e = symbol_store_take(s, fd, path, wanted, ret, fault);
	close(fd);
	return e;
}

static enum err put_small(struct symbol_store *s, unsigned char id, bool debug)
{
	struct symbol_item item;
	struct small file;

	small_fill(&file, id, debug);
	return put(s, &file, sizeof(file), (struct str){0}, &item, NULL);
}

static enum err count(void *context, const struct symbol_item *item)
{
	(void)item;
	++*(int *)context;
	return ERR_OK;
}

static int items(struct symbol_store *s)
{
	int n = 0;

	return symbol_store_list(s, count, &n) ? -1 : n;
}

TEST(programs_and_debug_files_are_kept_beside_each_other)
{
	CLEANUP(place_close) struct place p;
	char one[BUILD_ID_TEXT_MAX + 1], two[BUILD_ID_TEXT_MAX + 1];
	int fd;

	CHECK_OK(place_open(&p, 0, 0, false));
	CHECK(symbol_store_is_empty(p.store));
	id_text(1, one);
	id_text(2, two);
	CHECK_OK(put_small(p.store, 1, false));
	CHECK_OK(put_small(p.store, 1, true));
	CHECK_OK(put_small(p.store, 2, true));
	CHECK_OK(put_small(p.store, 2, true)); /* again: in its place */
	CHECK_INT(items(p.store), 3);
	CHECK_INT(symbol_store_bytes(p.store), 3 * sizeof(struct small));
	CHECK_INT(symbol_store_changes(p.store), 4);
	CHECK(symbol_store_has(p.store, str_of(one)) && symbol_store_has(p.store, str_of(two)));
	CHECK(!symbol_store_has(p.store, STR("../x")) && !symbol_store_has(p.store, STR("ab")));
	CHECK_OK(symbol_store_open(p.store, str_of(one), false, &fd));
	close(fd);
	CHECK_ERR(symbol_store_open(p.store, str_of(two), false, &fd), ERR_NOT_FOUND);
	CHECK_OK(symbol_store_open(p.store, str_of(two), true, &fd));
	close(fd);
	CHECK_OK(symbol_store_remove(p.store, str_of(one)));
	CHECK_ERR(symbol_store_remove(p.store, str_of(one)), ERR_NOT_FOUND);
	CHECK_INT(items(p.store), 1);
}

TEST(a_store_is_found_again_and_what_was_not_finished_is_gone)
{
	CLEANUP(place_close) struct place p;
	char path[400], folder[300];
	int fd;

	CHECK_OK(place_open(&p, 0, 0, false));
	CHECK_OK(put_small(p.store, 7, false));
	CHECK_OK(symbol_store_begin(p.store, &fd, path, sizeof(path), NULL));
	close(fd);
	CHECK(!access(path, F_OK));
	snprintf(folder, sizeof(folder), "%s", symbol_store_folder(p.store));
	symbol_store_free(p.store);
	p.store = NULL;
	CHECK_OK(
		symbol_store_new(&(struct symbol_store_options){.folder = folder}, &p.store, NULL));
	CHECK_INT(items(p.store), 1);
	CHECK(access(path, F_OK) != 0);
}

TEST(what_cannot_name_anything_is_refused_and_not_kept)
{
	CLEANUP(place_close) struct place p;
	struct symbol_item item;
	struct fault fault = {0};
	struct small s;

	CHECK_OK(place_open(&p, sizeof(s), 0, false));
	CHECK(put(p.store, "text", 4, (struct str){0}, &item, &fault) != ERR_OK && fault.text[0]);
	small_fill(&s, 1, false);
	s.head.e_type = ET_CORE;
	CHECK_ERR(put(p.store, &s, sizeof(s), (struct str){0}, &item, &fault), ERR_UNSUPPORTED);
	CHECK(strstr(fault.text, "core file"));
	small_fill(&s, 1, false);
	s.note.head.n_type = 99;
	CHECK_ERR(put(p.store, &s, sizeof(s), (struct str){0}, &item, &fault), ERR_UNPROCESSABLE);
	CHECK(strstr(fault.text, "no build id"));
	small_fill(&s, 1, false);
	s.tables[3].sh_type = SHT_PROGBITS;
	CHECK_ERR(put(p.store, &s, sizeof(s), (struct str){0}, &item, &fault), ERR_UNPROCESSABLE);
	CHECK(strstr(fault.text, "no names"));
	/* Another one than was asked for; one that is too large. */
	small_fill(&s, 1, false);
	CHECK_ERR(put(p.store, &s, sizeof(s), STR("0202020202020202"), &item, &fault), ERR_CORRUPT);
	CHECK_OK(put(p.store, &s, sizeof(s), STR("0101010101010101"), &item, &fault));
	{
		char more[sizeof(s) + 1] = {0};

		memcpy(more, &s, sizeof(s));
		CHECK_ERR(put(p.store, more, sizeof(more), (struct str){0}, &item, &fault),
			  ERR_TOO_LARGE);
	}
	CHECK_INT(items(p.store), 1);
}

TEST(a_full_store_refuses_or_drops_what_was_used_longest_ago)
{
	CLEANUP(place_close) struct place full, dropping;
	char id[BUILD_ID_TEXT_MAX + 1];
	int fd;

	CHECK_OK(place_open(&dropping, 0, 2 * sizeof(struct small), true));
	CHECK_OK(place_open(&full, 0, 2 * sizeof(struct small), false));
	CHECK_OK(put_small(full.store, 1, false));
	CHECK_OK(put_small(full.store, 2, false));
	CHECK_ERR(put_small(full.store, 3, false), ERR_TOO_LARGE);
	CHECK_OK(put_small(full.store, 2, false)); /* takes no more room */
	CHECK_INT(items(full.store), 2);
	CHECK_OK(put_small(dropping.store, 1, false));
	CHECK_OK(put_small(dropping.store, 2, false));
	CHECK_OK(symbol_store_open(dropping.store, id_text(1, id), false, &fd));
	close(fd);
	CHECK_OK(put_small(dropping.store, 3, false));
	CHECK(symbol_store_has(dropping.store, id_text(1, id)));
	CHECK(!symbol_store_has(dropping.store, id_text(2, id)));
	CHECK(symbol_store_has(dropping.store, id_text(3, id)));
}

static enum err sweep(void)
{
	CLEANUP(place_close) struct place p;

	TRY(place_open(&p, 0, 0, false));
	TRY(put_small(p.store, 1, false));
	return put_small(p.store, 2, true);
}

TEST(a_store_survives_every_failing_allocation)
{
	ALLOC_SWEEP(sweep());
}

/* ---- addresses ---- */

TEST(mappings_of_segments_and_of_whole_files_lead_to_the_same_place)
{
	struct symbol_options o = {.alone = true};
	struct symbol_mapping segment = {0x555500001000, 0x555500001000 + 512, 0};
	struct symbol_mapping whole = {0x1000, 0x1000 + sizeof(struct small), 0};
	struct symbol_mapping unknown = {0};
	struct symbol_file *f;
	struct small s;
	FILE *file = tmpfile();
	uint64_t vaddr;

	small_fill(&s, 1, false);
	CHECK(file && fwrite(&s, sizeof(s), 1, file) == 1 && !fflush(file));
	CHECK_OK(symbol_file_new(fileno(file), "small", &o, &f, NULL));
	fclose(file);
	CHECK(symbol_file_mapped_to_vaddr(f, &segment, 0x555500001010, &vaddr));
	CHECK_INT(vaddr, 0x1010);
	CHECK(symbol_file_mapped_to_vaddr(f, &whole, 0x1010, &vaddr));
	CHECK_INT(vaddr, 0x1010);
	CHECK(symbol_file_mapped_to_vaddr(f, &unknown, 0x1010, &vaddr));
	CHECK_INT(vaddr, 0x1010);
	CHECK(!symbol_file_mapped_to_vaddr(f, &whole, 0xfff, &vaddr));
	CHECK(!symbol_file_mapped_to_vaddr(f, &whole, whole.limit, &vaddr));
	symbol_file_free(f);
}

/* ---- fetching ---- */

struct elsewhere {
	_Atomic int asked, told;
	_Atomic bool held; /* nobody is answered */
};

/* Has 1; for 3 it has another file; 4 fails. */
static enum err get(void *context, const char *build_id, int fd, struct fault *fault)
{
	struct elsewhere *e = context;
	struct small s;

	atomic_fetch_add(&e->asked, 1);
	while (atomic_load(&e->held))
		clock_sleep_ns(NS_PER_MS);
	if (build_id[1] == '2')
		return ERR_NOT_FOUND;
	if (build_id[1] == '4')
		return fault_set(fault, ERR_UNAVAILABLE, "away");
	small_fill(&s, 1, true);
	return write_all(fd, &s, sizeof(s));
}

static void tell(void *context, const char *build_id, enum err error, const struct fault *fault)
{
	struct elsewhere *e = context;

	(void)build_id, (void)error, (void)fault;
	atomic_fetch_add(&e->told, 1);
}

TEST(what_is_fetched_is_kept_and_what_is_not_there_is_not_asked_for_again)
{
	CLEANUP(place_close) struct place p;
	struct elsewhere e = {.held = true};
	struct debug_fetcher *f;
	char id[BUILD_ID_TEXT_MAX + 1];
	int64_t soon = clock_monotonic_ns() + 60 * NS_PER_S;

	CHECK_OK(place_open(&p, 0, 0, true));
	CHECK_OK(debug_fetcher_new(&(struct fetcher_options){p.store, get, tell, &e}, &f));
	CHECK_INT(debug_fetcher_ask(f, STR("nonsense")), FETCH_REFUSED);
	for (unsigned char i = 1; i <= 4; i++) {
		CHECK_INT(debug_fetcher_ask(f, id_text(i, id)), FETCH_PENDING);
		CHECK_INT(debug_fetcher_ask(f, id_text(i, id)), FETCH_PENDING);
	}
	CHECK(!debug_fetcher_wait(f, clock_monotonic_ns() + NS_PER_MS));
	atomic_store(&e.held, false);
	CHECK(debug_fetcher_wait(f, soon));
	CHECK_INT(atomic_load(&e.asked), 4);
	CHECK_INT(debug_fetcher_ask(f, id_text(1, id)), FETCH_HERE);
	for (unsigned char i = 2; i <= 4; i++)
		CHECK_INT(debug_fetcher_ask(f, id_text(i, id)), FETCH_REFUSED);
	CHECK(debug_fetcher_wait(f, soon));
	CHECK_INT(atomic_load(&e.asked), 4);
	CHECK_INT(atomic_load(&e.told), 4);
	CHECK_INT(items(p.store), 1);
	debug_fetcher_free(f);
}
