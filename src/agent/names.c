#include "agent/names.h"

#include <stdio.h>

#include "base/hash.h"
#include "symbols/symbols.h"

/* Places named so far, and where their frames are in the pool. */
struct named {
	struct sample_frame where;
	u32 process; /* for code made at run time, which is one process's own */
	u32 at, n;
};

/* A module's symbols; its number may have been given to another one since. */
struct named_file {
	u64 serial;
	struct symbol_file *symbols; /* NULL = not opened, or not to be opened */
};

/* Variables are few and asked for again and again. */
#define VARIABLES_MAX 256

struct named_variable {
	u64 address; /* in the module */
	u32 module;
	char text[VARIABLE_NAME_MAX];
};

struct names {
	struct modules *modules;
	struct names_options options;
	struct dict *dict;
	struct kernel_symbols *kernel;
	bool kernel_tried;
	VEC(struct named_file) files; /* by number of module */
	VEC(uint32_t) mappings;	      /* in the dictionary, by number of module; 0 = not yet */
	VEC(struct named) named;
	VEC(uint32_t) pool;
	struct map by_place;
	VEC(struct named_variable) variables;
	struct jit_symbols *jit; /* of the process seen last */
	u32 jit_process;
};

enum err names_new(struct modules *m, const struct names_options *o, struct names **ret)
{
	struct names *n = mem_zalloc(1, sizeof(*n));

	if (!n)
		return ERR_NO_MEMORY;
	n->modules = m;
	n->options = *o;
	*ret = n;
	return ERR_OK;
}

static void forget_file(struct names *n, struct named_file *file)
{
	if (file->symbols && symbol_file_save(file->symbols, NULL) != ERR_OK)
		n->options.cache_directory = NULL;
	symbol_file_free(file->symbols);
	*file = (struct named_file){0};
}

void names_free(struct names *n)
{
	if (!n)
		return;
	vec_for_each (file, &n->files)
		forget_file(n, file);
	kernel_symbols_free(n->kernel);
	jit_symbols_free(n->jit);
	vec_release(&n->files);
	vec_release(&n->mappings);
	vec_release(&n->named);
	vec_release(&n->pool);
	map_release(&n->by_place);
	vec_release(&n->variables);
	mem_free(n);
}

/* Modules that are gone take their symbols with them. */
static void forget_gone(struct names *n)
{
	for (u32 i = 0; i < n->files.n; i++) {
		const struct module *module = modules_get(n->modules, i);

		if (n->files.v[i].serial && (!module || module->serial != n->files.v[i].serial))
			forget_file(n, &n->files.v[i]);
	}
}

void names_begin(struct names *n, struct dict *d)
{
	forget_gone(n);
	n->dict = d;
	n->mappings.n = n->named.n = n->pool.n = 0;
	map_clear(&n->by_place);
	jit_symbols_free(n->jit);
	n->jit = NULL;
	n->jit_process = 0;
}

static enum err build_id_text(struct dict *d, const struct unwind_image *image, uint32_t *ret)
{
	char text[2 * UNWIND_BUILD_ID_SIZE + 1] = "";

	for (u32 i = 0; i < image->build_id_size; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", image->build_id[i]);
	return dict_text(d, text, ret);
}

/* The dictionary's mapping of a module: all processes share it, so it lies where the file says. */
static enum err mapping_of(struct names *n, u32 number, uint32_t *ret)
{
	const struct module *module = modules_get(n->modules, number);
	struct mapping m = {.flags = MAPPING_HAS_FUNCTIONS};

	while (n->mappings.n <= number)
		TRY(vec_push(&n->mappings, 0));
	if (!n->mappings.v[number]) {
		TRY(dict_string(n->dict, module->path, &m.file));
		TRY(build_id_text(n->dict, &module->image, &m.build_id));
		for (u32 i = 0; i < module->image.load_count; i++) {
			const struct unwind_load *load = &module->image.loads[i];

			if (!m.limit || load->address < m.start) {
				m.start = load->address;
				m.offset = load->file_offset;
			}
			if (load->address + load->size > m.limit)
				m.limit = load->address + load->size;
		}
		TRY(dict_mapping(n->dict, &m, &n->mappings.v[number]));
	}
	*ret = n->mappings.v[number];
	return ERR_OK;
}

static struct symbol_file *file_of(struct names *n, u32 number)
{
	const struct module *module = modules_get(n->modules, number);
	struct symbol_options o = {.names = SYMBOL_NAMES_FULL,
				   .cache_directory = n->options.cache_directory};
	char *path;

	while (n->files.n <= number)
		if (vec_push(&n->files, ((struct named_file){0})) != ERR_OK)
			return NULL;
	if (n->files.v[number].serial || module->fd < 0)
		return n->files.v[number].symbols;
	path = mem_strndup(module->path.p, module->path.n);
	n->files.v[number].serial = module->serial;
	/* Without them there are addresses. */
	if (!path ||
	    symbol_file_new(module->fd, path, &o, &n->files.v[number].symbols, NULL) != ERR_OK)
		n->files.v[number].symbols = NULL;
	mem_free(path);
	return n->files.v[number].symbols;
}

static enum err add_frame(struct names *n, struct frame f, const struct symbol_frame *s)
{
	uint32_t id;

	if (s && s->function[0]) {
		struct function function = {.start_line = s->start_line};

		TRY(dict_text(n->dict, s->function, &function.name));
		TRY(dict_text(n->dict, s->linkage[0] ? s->linkage : s->function,
			      &function.system_name));
		TRY(dict_text(n->dict, s->file, &function.file));
		TRY(dict_function(n->dict, &function, &f.function));
		f.line = s->line;
		f.column = s->column;
		f.flags |= FRAME_HAS_LINE | (s->inlined ? FRAME_INLINED : 0);
	}
	TRY(dict_frame(n->dict, &f, &id));
	return vec_push(&n->pool, id);
}

static enum err name_kernel(struct names *n, u64 address)
{
	struct frame f = {.address = address, .kind = KIND_KERNEL};
	struct kernel_symbol symbol;
	struct symbol_frame s = {.linkage = "", .file = ""};
	char text[300];

	TRY(mapping_of(n, MODULE_KERNEL, &f.mapping));
	if (!n->kernel_tried) {
		n->kernel_tried = true;
		/* Without it, addresses: `vestal doctor` says what to do. */
		if (kernel_symbols_new("/proc/kallsyms", &n->kernel, NULL) != ERR_OK)
			n->kernel = NULL;
	}
	if (!n->kernel || !kernel_symbols_find(n->kernel, address, &symbol))
		return add_frame(n, f, NULL);
	snprintf(text, sizeof(text), symbol.module[0] ? "%s [%s]" : "%s", symbol.name,
		 symbol.module);
	s.function = text;
	return add_frame(n, f, &s);
}

static enum err name_jit(struct names *n, const struct process *process, u64 address)
{
	struct frame f = {.address = address, .kind = KIND_NATIVE};
	struct symbol_frame s;

	if (!n->jit || n->jit_process != process->pid) {
		jit_symbols_free(n->jit);
		n->jit = NULL;
		n->jit_process = process->pid;
		TRY(jit_symbols_new((size_t)32 << 20, &n->jit));
		/* Most processes have none. */
		if (jit_symbols_read_map(n->jit, (pid_t)process->pid) != ERR_OK)
			return add_frame(n, f, NULL);
	}
	return add_frame(n, f, jit_symbols_find(n->jit, address, &s) ? &s : NULL);
}

static enum err name_native(struct names *n, struct sample_frame where)
{
	const struct module *module = modules_get(n->modules, where.module);
	struct frame f = {.address = where.address,
			  .kind = module->image.go ? KIND_GO : KIND_NATIVE};
	struct symbol_frame frames[SYMBOL_FRAMES_MAX];
	struct symbol_file *file = file_of(n, where.module);
	size_t count = 0;

	TRY(mapping_of(n, where.module, &f.mapping));
	if (file && symbol_file_lookup(file, where.address, frames, SYMBOL_FRAMES_MAX, &count) ==
			    ERR_TOO_LARGE) {
		symbol_file_trim(file);
		if (symbol_file_lookup(file, where.address, frames, SYMBOL_FRAMES_MAX, &count) !=
		    ERR_OK)
			count = 0;
	}
	if (!count)
		return add_frame(n, f, NULL);
	for (size_t i = 0; i < count; i++)
		TRY(add_frame(n, f, &frames[i]));
	return ERR_OK;
}

static enum err name_place(struct names *n, const struct process *process,
			   struct sample_frame where)
{
	if (where.module == MODULE_KERNEL)
		return name_kernel(n, where.address);
	if (where.module == MODULE_NONE)
		return name_jit(n, process, where.address);
	return name_native(n, where);
}

enum err names_frames(struct names *n, const struct process *process, struct sample_frame where,
		      uint32_t *ids, size_t max, size_t *ret_n)
{
	u32 owner = where.module == MODULE_NONE ? process->pid : 0;
	uint64_t hash = hash_mix(where.address, (uint64_t)where.module << 32 | owner);
	struct named *found = NULL;

	MAP_PROBE(&n->by_place, hash, id)
	{
		struct named *one = &n->named.v[id];

		if (one->where.address == where.address && one->where.module == where.module &&
		    one->process == owner)
			found = one;
	}
	if (!found) {
		struct named fresh = {.where = where, .process = owner, .at = (u32)n->pool.n};

		TRY(name_place(n, process, where));
		fresh.n = (u32)n->pool.n - fresh.at;
		TRY(vec_push(&n->named, fresh));
		TRY(map_put(&n->by_place, hash, (u32)n->named.n - 1));
		found = &n->named.v[n->named.n - 1];
	}
	*ret_n = found->n < max ? found->n : max;
	memcpy(ids, n->pool.v + found->at, *ret_n * sizeof(*ids));
	return ERR_OK;
}

/* Data lies behind the code of its file: the nearest mapping below. */
static const struct process_mapping *mapping_below(const struct process *process, u64 address)
{
	const struct process_mapping *best = NULL;

	vec_for_each (m, &process->mappings)
		if (m->start <= address && m->module != MODULE_NONE && m->placed)
			best = m;
	return best;
}

static void name_variable(struct names *n, struct symbol_file *file, struct named_variable *v)
{
	struct str path = modules_get(n->modules, v->module)->path;
	size_t slash = str_rfind(path, '/');
	char name[VARIABLE_NAME_MAX - 20];
	uint64_t offset;

	if (slash < path.n)
		path = str_skip(path, slash + 1);
	if (symbol_file_object(file, v->address, name, sizeof(name), &offset) != ERR_OK)
		snprintf(v->text, sizeof(v->text), "%.*s+0x%llx",
			 (int)(path.n < 150 ? path.n : 150), path.p,
			 (unsigned long long)v->address);
	else if (offset)
		snprintf(v->text, sizeof(v->text), "%s+0x%llx", name, (unsigned long long)offset);
	else
		snprintf(v->text, sizeof(v->text), "%s", name);
}

bool names_variable(struct names *n, const struct process *process, u64 address,
		    char text[VARIABLE_NAME_MAX])
{
	const struct process_mapping *m = mapping_below(process, address);
	struct symbol_file *file = m ? file_of(n, m->module) : NULL;
	struct named_variable fresh = {.module = m ? m->module : 0,
				       .address = m ? address - m->bias : 0};

	if (!file || !symbol_file_holds(file, fresh.address))
		return false;
	vec_for_each (one, &n->variables)
		if (one->address == fresh.address && one->module == fresh.module) {
			memcpy(text, one->text, VARIABLE_NAME_MAX);
			return true;
		}
	name_variable(n, file, &fresh);
	memcpy(text, fresh.text, VARIABLE_NAME_MAX);
	if (n->variables.n == VARIABLES_MAX)
		n->variables.n = 0;
	/* Without memory it is looked for again the next time. */
	(void)!vec_push(&n->variables, fresh);
	return true;
}
