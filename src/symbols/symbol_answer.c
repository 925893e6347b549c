/*
 * Puts one answer together. Go's own table comes first where it has the address: it needs no index
 * and says what the Go runtime says. Then DWARF; then the symbol tables, by how much they hold;
 * then the stubs of the procedure linkage table. The answer goes to the cache.
 */
#include "base/buf.h"
#include "symbols/symbol_file.h"

static bool find_symbol(const struct symbol_file *f, uint64_t address,
			struct elf_function_range *ret)
{
	return elf_functions_find(&f->symtab, address, ret) ||
	       elf_functions_find(&f->mini_symtab, address, ret) ||
	       elf_functions_find(&f->dynsym, address, ret);
}

static bool is_mangled(struct str name)
{
	return str_starts(name, STR("_Z")) || str_starts(name, STR("_R"));
}

/*
 * The name DWARF's outermost frame lacks: of assembler, and of functions in unnamed namespaces,
 * for which compilers leave the linkage name out. Endings like .cold are left away then, as DWARF
 * knows no such parts either.
 */
static void complete(struct raw_frames *raw, uint64_t address,
		     const struct elf_function_range *found)
{
	struct raw_frame *outermost = &raw->v[raw->n - 1];

	if (!outermost->name.n) {
		raw_frames_narrow(raw, address, found->start, found->end);
		outermost->linkage = found->name;
	} else if (is_mangled(found->name)) {
		outermost->linkage = str_n(found->name.p, str_find(found->name, '.'));
	}
}

static void add_symbol(struct symbol_file *f, uint64_t address)
{
	struct raw_frames *raw = &f->raw;
	struct elf_function_range found;
	bool stub = false;

	if (raw->n && raw->v[raw->n - 1].linkage.n)
		return;
	if (!find_symbol(f, address, &found)) {
		stub = !raw->n && elf_stub_find(&f->program.image, address, &found);
		if (!stub)
			return;
	}
	if (raw->n) {
		complete(raw, address, &found);
		return;
	}
	raw->n = 1;
	raw->start = found.start;
	raw->end = found.end;
	raw->v[0] = (struct raw_frame){.linkage = found.name};
	if (stub)
		raw->v[0].name = STR("@plt");
}

static enum err find_raw(struct symbol_file *f, uint64_t address)
{
	go_table_lookup(&f->go, address, &f->raw);
	if (f->raw.n)
		return ERR_OK;
	/* C in a Go program: only now its debug information is needed. */
	if (f->go.version)
		TRY(symbol_file_open_dwarf(f));
	if (f->dwarf)
		TRY(dwarf_lookup(f->dwarf, address, &f->raw));
	add_symbol(f, address);
	return ERR_OK;
}

/* The demangled form of a linkage name; each is worked out once. */
static enum err demangled(struct symbol_file *f, uint32_t linkage, uint32_t *ret)
{
	char text[SYMBOL_NAME_MAX];

	while (f->functions.n < linkage)
		TRY(vec_push(&f->functions, 0u));
	if (!f->functions.v[linkage - 1]) {
		uint32_t id = linkage;

		if (symbol_demangle(name_pool_get(&f->cache.names, linkage), f->options.names, text,
				    sizeof(text)))
			TRY(name_pool_add(&f->cache.names, str_of(text), &id));
		f->functions.v[linkage - 1] = id;
	}
	*ret = f->functions.v[linkage - 1];
	return ERR_OK;
}

static enum err name_frame(struct symbol_file *f, const struct raw_frame *raw,
			   struct cached_frame *ret)
{
	struct buf stub = BUF_INIT(SYMBOL_NAME_MAX + 16);
	enum err error;

	if (!raw->linkage.n) {
		TRY(name_pool_add(&f->cache.names, raw->name, &ret->function));
		ret->linkage = ret->function;
		return ERR_OK;
	}
	TRY(name_pool_add(&f->cache.names, raw->linkage, &ret->linkage));
	TRY(demangled(f, ret->linkage, &ret->function));
	if (raw->name.n && raw->name.p[0] == '@') {
		buf_text(&stub, name_pool_get(&f->cache.names, ret->function));
		buf_str(&stub, raw->name);
		error = buf_error(&stub);
		if (!error)
			error = name_pool_add(&f->cache.names, buf_view(&stub), &ret->function);
		buf_release(&stub);
		return error == ERR_TOO_LARGE ? ERR_OK : error;
	}
	/* Not mangled after all: the source's name is the better one (foo for foo.part.0). */
	if (ret->function == ret->linkage && raw->name.n && f->options.names != SYMBOL_NAMES_RAW)
		TRY(name_pool_add(&f->cache.names, raw->name, &ret->function));
	return ERR_OK;
}

static void add_part(struct buf *path, struct str part)
{
	while (str_starts(part, STR("./")))
		part = str_skip(part, 2);
	if (!part.n || str_eq(part, STR(".")))
		return;
	if (path->n && path->data[path->n - 1] != '/')
		buf_byte(path, '/');
	buf_str(path, part);
}

static bool is_absolute(struct str path)
{
	return path.n && path.p[0] == '/';
}

static enum err join_path(struct symbol_file *f, const struct raw_frame *raw, uint32_t *ret)
{
	struct buf path = BUF_INIT(DEBUG_PATH_MAX);
	enum err error;

	*ret = 0;
	if (!raw->file.n)
		return ERR_OK;
	if (!is_absolute(raw->file)) {
		if (!is_absolute(raw->directory))
			add_part(&path, raw->top_directory);
		add_part(&path, raw->directory);
	}
	add_part(&path, raw->file);
	error = buf_error(&path);
	if (!error)
		error = name_pool_add(&f->cache.names, buf_view(&path), ret);
	else if (error == ERR_TOO_LARGE) /* longer paths cannot be opened */
		error = ERR_OK;
	buf_release(&path);
	return error;
}

enum err symbol_file_work_out(struct symbol_file *f, uint64_t address)
{
	struct cached_frame frames[SYMBOL_FRAMES_MAX];
	struct raw_frames *raw = &f->raw;

	TRY(find_raw(f, address));
	if (!raw->n)
		return ERR_OK;
	for (size_t i = 0; i < raw->n; i++) {
		const struct raw_frame *from = &raw->v[i];

		frames[i] = (struct cached_frame){
			.line = from->line,
			.start_line = from->start_line,
			.column = from->column > UINT16_MAX ? 0 : (uint16_t)from->column,
			.inlined = from->inlined};
		TRY(name_frame(f, from, &frames[i]));
		TRY(join_path(f, from, &frames[i].file));
	}
	return symbol_cache_add(&f->cache, address, raw->start, raw->end, frames, raw->n);
}
