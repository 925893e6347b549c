#include "symbols/symbol_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "symbols/section_unpack.h"

#define MEMORY_DEFAULT ((size_t)64 << 20)
#define MINI_MAX       ((size_t)64 << 20)
#define CACHE_VERSION  1

static struct debug_search search_of(const struct symbol_file *f)
{
	return (struct debug_search){f->root, f->options.debug_directories, f->path};
}

static enum err copy_text(char **place, const char *text)
{
	if (!text || !*text)
		return ERR_OK;
	*place = mem_strdup(text);
	return *place ? ERR_OK : ERR_NO_MEMORY;
}

/* The cache is known by the build id alone; a program without one has none. */
static enum err name_cache(struct symbol_file *f, const char *directory)
{
	struct str id = f->program.image.build_id;
	struct buf path = BUF_INIT(DEBUG_PATH_MAX);

	if (!directory || !id.n || id.n > 64)
		return ERR_OK;
	buf_printf(&path, "%s/", directory);
	for (size_t i = 0; i < id.n; i++)
		buf_printf(&path, "%02x", (unsigned char)id.p[i]);
	buf_text(&path, ".vsym");
	if (buf_error(&path)) {
		buf_release(&path);
		return ERR_NO_MEMORY;
	}
	f->cache_path = path.data;
	return ERR_OK;
}

static enum err fill(struct symbol_file *f, int fd, const char *path,
		     const struct symbol_options *options, struct fault *fault)
{
	f->options = *options;
	if (!f->options.memory)
		f->options.memory = MEMORY_DEFAULT;
	symbol_cache_init(&f->cache, f->options.memory);
	TRY(elf_source_open(&f->program, fd, path, fault));
	f->path = mem_strdup(path);
	if (!f->path)
		return ERR_NO_MEMORY;
	TRY(copy_text(&f->root, options->root));
	return name_cache(f, options->cache_directory);
}

enum err symbol_file_new(int fd, const char *path, const struct symbol_options *options,
			 struct symbol_file **ret, struct fault *fault)
{
	struct symbol_file *f = mem_zalloc(1, sizeof(*f));
	enum err error;

	if (!f)
		return ERR_NO_MEMORY;
	error = fill(f, fd, path, options, fault);
	if (error) {
		symbol_file_free(f);
		return error;
	}
	*ret = f;
	return ERR_OK;
}

void symbol_file_free(struct symbol_file *f)
{
	if (!f)
		return;
	elf_functions_release(&f->symtab);
	elf_functions_release(&f->mini_symtab);
	elf_functions_release(&f->dynsym);
	symbol_cache_release(&f->cache);
	vec_release(&f->functions);
	elf_source_close(&f->program);
	elf_source_close(&f->debug);
	elf_source_close(&f->mini);
	elf_source_close(&f->alternate);
	mem_free(f->path);
	mem_free(f->root);
	mem_free(f->cache_path);
	mem_free(f);
}

/* Cached answers are those of one debug file: when another appears they are worked out again. */
static uint64_t key_of(const struct symbol_file *f, bool fetched)
{
	uint64_t parts[] = {CACHE_VERSION, f->options.names, f->debug.open, f->debug.file.bytes.n,
			    fetched};

	return hash_bytes(parts, sizeof(parts), 1);
}

static enum err find_debug(struct symbol_file *f)
{
	struct debug_search search = search_of(f);
	enum err error = ERR_NOT_FOUND;

	if (f->looked_for_debug)
		return ERR_OK;
	if (!elf_source_has_dwarf(&f->program) && !f->options.alone)
		error = debug_file_find(&search, &f->program.image, &f->debug, f->debug_path);
	if (error == ERR_NO_MEMORY)
		return error;
	if (error)
		f->debug_path[0] = 0;
	f->looked_for_debug = true;
	f->key = key_of(f, false);
	f->fetched_key = f->options.fetch_debug && !f->debug.open ? key_of(f, true) : f->key;
	/* Without a usable cache file, results are computed; that is no error. */
	if (f->cache_path)
		(void)!symbol_cache_open(&f->cache, f->cache_path, f->key, f->fetched_key);
	return ERR_OK;
}

/* Fetches the debug file of a build id; a missing one is no error. */
static enum err fetch(struct symbol_file *f, struct str id, struct elf_source *ret)
{
	char hex[BUILD_ID_TEXT_MAX + 1];
	enum err error;
	int fd;

	if (!f->options.fetch_debug || id.n < 2 || id.n > BUILD_ID_MAX)
		return ERR_OK;
	build_id_text(id, hex);
	if (f->options.fetch_debug(f->options.fetch_context, hex, &fd))
		return ERR_OK;
	error = elf_source_open(ret, fd, "the fetched debug file", NULL);
	close(fd);
	if (!error && !str_eq(ret->image.build_id, id))
		elf_source_close(ret);
	return error == ERR_NO_MEMORY ? error : ERR_OK;
}

static enum err fetch_debug(struct symbol_file *f)
{
	if (f->fetched || f->debug.open || elf_source_has_dwarf(&f->program) || f->go.version)
		return ERR_OK;
	TRY(fetch(f, f->program.image.build_id, &f->debug));
	f->fetched = f->debug.open;
	return ERR_OK;
}

static enum err find_alternate(struct symbol_file *f, const char *path,
			       const struct elf_image *image)
{
	struct debug_search search = search_of(f);
	enum err error = ERR_NOT_FOUND;
	struct str id;

	if (f->alternate.open || !debug_file_alternate_id(image, &id))
		return ERR_OK;
	if (!f->options.alone)
		error = debug_file_find_alternate(&search, path, image, &f->alternate);
	if (error == ERR_NOT_FOUND)
		error = fetch(f, id, &f->alternate);
	return error;
}

/* .gnu_debugdata: a whole ELF file, packed, with the symbols .dynsym does not have. */
static enum err open_mini(struct symbol_file *f)
{
	const struct elf_section *s = elf_section_named(&f->program.image, ".gnu_debugdata");
	enum err error;
	void *memory;
	size_t size;

	if (!s || f->mini.open)
		return ERR_OK;
	error = unpack_xz(elf_section_raw(&f->program.image, s), MINI_MAX, &memory, &size);
	if (!error)
		error = elf_source_open_memory(&f->mini, memory, size);
	return error == ERR_NO_MEMORY ? error : ERR_OK;
}

/* Go's own table answers nearly everything: its packed sections are not unpacked for nothing. */
enum err symbol_file_open_dwarf(struct symbol_file *f)
{
	bool own = elf_source_has_dwarf(&f->program);
	struct elf_source *source = own ? &f->program : &f->debug;

	if (f->dwarf || !elf_source_has_dwarf(source))
		return ERR_OK;
	TRY(find_alternate(f, own ? f->path : f->debug_path, &source->image));
	if (f->alternate.open && !f->alternate.dwarf)
		TRY(elf_source_read_dwarf(&f->alternate, NULL, f->options.memory));
	TRY(elf_source_read_dwarf(source, f->alternate.dwarf, f->options.memory));
	f->dwarf = source->dwarf;
	return ERR_OK;
}

static enum err load_symbols(struct symbol_file *f)
{
	const struct elf_image *e = &f->program.image;
	const struct elf_section *table = elf_section_of_type(e, SHT_SYMTAB);

	if (!table && f->debug.open) {
		e = &f->debug.image;
		table = elf_section_of_type(e, SHT_SYMTAB);
	}
	elf_functions_release(&f->symtab);
	elf_functions_release(&f->mini_symtab);
	elf_functions_release(&f->dynsym);
	TRY(elf_functions_init(&f->symtab, e, table));
	if (f->mini.open)
		TRY(elf_functions_init(&f->mini_symtab, &f->mini.image,
				       elf_section_of_type(&f->mini.image, SHT_SYMTAB)));
	if (!table)
		TRY(elf_functions_init(&f->dynsym, &f->program.image,
				       elf_section_of_type(&f->program.image, SHT_DYNSYM)));
	return ERR_OK;
}

static enum err load(struct symbol_file *f)
{
	if (f->loaded)
		return ERR_OK;
	go_table_init(&f->go, &f->program.image);
	TRY(fetch_debug(f));
	TRY(open_mini(f));
	if (!f->go.version)
		TRY(symbol_file_open_dwarf(f));
	TRY(load_symbols(f));
	f->loaded = true;
	return ERR_OK;
}

static bool torn(const struct symbol_file *f)
{
	return elf_source_torn(&f->program) || elf_source_torn(&f->debug) ||
	       elf_source_torn(&f->alternate);
}

/* Pages of a mapped file count as memory of this process, although the kernel could take them. */
void symbol_file_drop_pages(struct symbol_file *f)
{
	f->touched = 0;
	dwarf_drop_pieces(f->program.dwarf);
	dwarf_drop_pieces(f->debug.dwarf);
	dwarf_drop_pieces(f->alternate.dwarf);
	mapped_file_trim(&f->program.file);
	mapped_file_trim(&f->debug.file);
	mapped_file_trim(&f->alternate.file);
}

static void give_pages_back(struct symbol_file *f)
{
	if (f->dwarf)
		f->touched += dwarf_touched(f->dwarf);
	if (f->touched >= f->options.memory / 2)
		symbol_file_drop_pages(f);
}

/* Around an address without a name: where the tables have none. Of the rest that is not known. */
static struct symbol_range nameless_range(const struct symbol_file *f, uint64_t vaddr)
{
	const struct elf_section *s = elf_section_at(&f->program.image, vaddr, SHF_EXECINSTR);
	struct symbol_range r = {vaddr, vaddr + 1};

	if (!s || f->dwarf || f->go.version || str_starts(s->name, STR(".plt")))
		return r;
	r = (struct symbol_range){s->address, s->address + s->size};
	elf_functions_narrow_gap(&f->symtab, vaddr, &r.start, &r.end);
	elf_functions_narrow_gap(&f->mini_symtab, vaddr, &r.start, &r.end);
	elf_functions_narrow_gap(&f->dynsym, vaddr, &r.start, &r.end);
	return r;
}

enum err symbol_file_lookup_range(struct symbol_file *f, uint64_t vaddr,
				  struct symbol_frame *frames, size_t max, size_t *ret_n,
				  struct symbol_range *ret_range)
{
	*ret_n = 0;
	*ret_range = (struct symbol_range){vaddr, vaddr + 1};
	if (torn(f))
		return ERR_TRUNCATED;
	TRY(find_debug(f));
	if (symbol_cache_find(&f->cache, vaddr, frames, max, ret_n, ret_range))
		return ERR_OK;
	TRY(load(f));
	TRY(symbol_file_work_out(f, vaddr));
	give_pages_back(f);
	if (torn(f))
		return ERR_TRUNCATED;
	if (!symbol_cache_find(&f->cache, vaddr, frames, max, ret_n, ret_range))
		*ret_range = nameless_range(f, vaddr);
	return ERR_OK;
}

enum err symbol_file_lookup(struct symbol_file *f, uint64_t vaddr, struct symbol_frame *frames,
			    size_t max, size_t *ret_n)
{
	struct symbol_range range;

	return symbol_file_lookup_range(f, vaddr, frames, max, ret_n, &range);
}

enum err symbol_file_facts(struct symbol_file *f, struct symbol_facts *ret)
{
	const struct elf_image *e = &f->program.image;

	TRY(find_debug(f));
	TRY(load(f));
	TRY(symbol_file_open_dwarf(f));
	*ret = (struct symbol_facts){
		.type = e->type,
		.code = elf_has_code(e),
		.build_id = e->build_id,
		.go_build_id = e->go_build_id,
		.debug_file = f->debug_path,
		.symtab = f->symtab.table,
		.dynsym = elf_section_of_type(e, SHT_DYNSYM),
		.dwarf = f->dwarf,
		.go_table = f->go.version,
		.mini_debuginfo = f->mini.open,
	};
	return ERR_OK;
}

bool symbol_file_offset_to_vaddr(const struct symbol_file *f, uint64_t offset, uint64_t *ret)
{
	return elf_offset_to_vaddr(&f->program.image, offset, ret);
}

bool symbol_file_vaddr_to_offset(const struct symbol_file *f, uint64_t vaddr, uint64_t *ret)
{
	return elf_vaddr_to_offset(&f->program.image, vaddr, ret);
}

enum err symbol_file_save(struct symbol_file *f, struct fault *fault)
{
	if (!f->cache_path || torn(f))
		return ERR_OK;
	return symbol_cache_save(&f->cache, f->cache_path,
				 f->fetched && f->debug.open ? f->fetched_key : f->key, fault);
}

void symbol_file_forget(struct symbol_file *f)
{
	vec_release(&f->functions);
	symbol_cache_trim(&f->cache);
}

void symbol_file_trim(struct symbol_file *f)
{
	elf_functions_release(&f->symtab);
	elf_functions_release(&f->mini_symtab);
	elf_functions_release(&f->dynsym);
	f->loaded = false;
	symbol_file_forget(f);
	if (f->cache_path && f->looked_for_debug)
		(void)!symbol_cache_open(&f->cache, f->cache_path, f->key, f->fetched_key);
	elf_source_trim(&f->program);
	elf_source_trim(&f->debug);
	elf_source_trim(&f->alternate);
}
