#include "agent/names.h"

#include <stdio.h>

#include "agent/name_reader.h"
#include "base/clock.h"
#include "base/hash.h"
#include "symbols/symbols.h"

/* A place and where its frames are in the pool; before somebody asks for them, nowhere. */
struct named {
	struct sample_frame where;
	u32 process; /* for code made at run time, which is one process's own */
	u32 at, n;
};

#define NOT_YET UINT32_MAX

/* In the background: a file is not asked about for every address that comes, nor late at first. */
#define FIRST_ASK_NS (500 * NS_PER_MS)
#define NEXT_ASK_NS  (7 * NS_PER_S)
/* Of the kernel's symbols at a time, which is 1 to 2 ms of CPU time, and how often. */
#define KERNEL_STEP  ((size_t)160 << 10)
#define KERNEL_PAUSE (200 * NS_PER_MS)

/* Variables are few and asked for again and again. */
#define VARIABLES_MAX 256

struct named_variable {
	u64 serial, address; /* of the module, and in it */
	bool outside;	     /* nothing of the file is there */
	char text[VARIABLE_NAME_MAX];
};

struct names {
	struct modules *modules;
	struct names_options options;
	struct name_reader reader;
	struct name_reader variable_reader; /* asked while a window is made, one at a time */
	struct dict *dict;
	struct kernel_symbols *kernel;
	bool kernel_tried, kernel_complete;
	bool kernel_wanted; /* gathered */
	int64_t next_ask, next_kernel;
	VEC(uint32_t) mappings; /* in the dictionary, by number of module; 0 = not yet */
	VEC(uint32_t) unread;	/* of them, those whose file ended its worker */
	VEC(struct named) named;
	VEC(uint32_t) pool;
	VEC(struct wanted_name) wanted;
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
	name_reader_init(&n->reader, WORKER_NAMES, o->debug);
	name_reader_init(&n->variable_reader, WORKER_VARIABLES, NULL);
	n->reader.wake = o->background ? o->wake : -1;
	n->next_ask = clock_monotonic_ns() + FIRST_ASK_NS;
	*ret = n;
	return ERR_OK;
}

void names_end(struct names *n)
{
	n->dict = NULL;
	jit_symbols_free(n->jit);
	n->jit = NULL;
	n->jit_process = 0;
	vec_release(&n->mappings);
	vec_release(&n->unread);
	vec_release(&n->named);
	vec_release(&n->pool);
	vec_release(&n->wanted);
	map_release(&n->by_place);
	name_reader_tidy(&n->reader);
	name_reader_rest(&n->variable_reader);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	names_end(n);
	name_reader_release(&n->reader);
	name_reader_release(&n->variable_reader);
	kernel_symbols_free(n->kernel);
	vec_release(&n->variables);
	mem_free(n);
}

static u64 place_hash(struct sample_frame where, u32 owner)
{
	return hash_mix(where.address, (uint64_t)where.module << 32 | owner);
}

static struct named *find_place(struct names *n, struct sample_frame where, u32 owner)
{
	MAP_PROBE(&n->by_place, place_hash(where, owner), id)
	{
		struct named *one = &n->named.v[id];

		if (one->where.address == where.address && one->where.module == where.module &&
		    one->process == owner)
			return one;
	}
	return NULL;
}

static enum err add_place(struct names *n, struct sample_frame where, u32 owner, struct named **ret)
{
	TRY(vec_push(&n->named, ((struct named){where, owner, NOT_YET, 0})));
	TRY(map_put(&n->by_place, place_hash(where, owner), (u32)n->named.n - 1));
	*ret = &n->named.v[n->named.n - 1];
	return ERR_OK;
}

/* A place that nobody asked for: who has to be asked about it. */
static enum err want(struct names *n, struct sample_frame where)
{
	const struct module *module;

	if (where.module == MODULE_KERNEL)
		n->kernel_wanted = true;
	if (where.module <= MODULE_VDSO)
		return ERR_OK;
	module = modules_get(n->modules, where.module);
	if (name_cache_find(&n->reader.cache, module->serial, where.address))
		return ERR_OK;
	return vec_push(&n->wanted,
			((struct wanted_name){where.module, module->serial, where.address}));
}

/* Every place once. */
enum err names_gather(struct names *n, struct sample_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sample_frame where = frames[i];
		struct named *place;

		if (where.module == MODULE_NONE || where.place)
			continue;
		place = find_place(n, where, 0);
		if (!place) {
			TRY(add_place(n, where, 0, &place));
			TRY(want(n, where));
		}
		frames[i].place = (u32)(place - n->named.v) + 1;
	}
	return ERR_OK;
}

static enum err learn(struct names *n)
{
	enum err e = name_reader_learn(&n->reader, n->modules, n->wanted.v, n->wanted.n);

	n->wanted.n = 0;
	return e;
}

/* Files whose debug files have come since; without memory they are named when they are forgotten.
 */
static void want_again(struct names *n)
{
	vec_for_each (one, &n->named)
		if (want(n, one->where) != ERR_OK)
			return;
}

/* Reads the kernel's symbols, about so many bytes; true when there is no more. */
static bool read_kernel(struct names *n, size_t bytes)
{
	if (n->kernel_complete)
		return true;
	/* Without it, addresses: `vestal doctor` says what to do. */
	if (!n->kernel_tried && kernel_symbols_begin("/proc/kallsyms", &n->kernel, NULL) != ERR_OK)
		n->kernel = NULL;
	n->kernel_tried = true;
	if (n->kernel &&
	    kernel_symbols_continue(n->kernel, bytes, &n->kernel_complete, NULL) != ERR_OK) {
		kernel_symbols_free(n->kernel);
		n->kernel = NULL;
	}
	n->kernel_complete |= !n->kernel;
	return n->kernel_complete;
}

bool names_turn(struct names *n, bool now)
{
	bool kernel = !n->kernel_wanted || n->kernel_complete, busy;

	if (!kernel && clock_monotonic_ns() >= n->next_kernel) {
		kernel = read_kernel(n, KERNEL_STEP);
		n->next_kernel = clock_monotonic_ns() + KERNEL_PAUSE;
	}
	if (name_reader_settle(&n->reader))
		want_again(n);
	if (name_reader_poll(&n->reader, n->modules, &busy) != ERR_OK || busy)
		return false;
	if (!n->wanted.n)
		return kernel;
	if (!now && clock_monotonic_ns() < n->next_ask)
		return false;
	/* Without memory it is asked again the next time. */
	if (name_reader_ask(&n->reader, n->modules, n->wanted.v, &n->wanted.n) == ERR_OK &&
	    !n->wanted.n)
		n->next_ask = clock_monotonic_ns() + NEXT_ASK_NS;
	return false;
}

void names_hurry(struct names *n)
{
	n->options.background = false;
}

enum err names_begin(struct names *n, struct dict *d, struct sample_frame *frames, size_t count)
{
	if (!n->options.background) {
		names_end(n);
		for (size_t i = 0; i < count; i++)
			frames[i].place = 0;
	}
	n->dict = d;
	TRY(names_gather(n, frames, count));
	if (n->options.background)
		return ERR_OK;
	if (name_reader_settle(&n->reader))
		want_again(n);
	TRY(learn(n));
	if (n->kernel_wanted)
		read_kernel(n, SIZE_MAX);
	if (!n->options.patience_ns || !n->reader.awaited.n)
		return ERR_OK;
	debug_source_wait(n->options.debug, clock_monotonic_ns() + n->options.patience_ns);
	if (!name_reader_settle(&n->reader))
		return ERR_OK;
	want_again(n);
	return learn(n);
}

/* The dictionary's mapping of a module: all processes share it, so it lies where the file says. */
static enum err mapping_of(struct names *n, u32 number, uint32_t *ret)
{
	const struct module *module = modules_get(n->modules, number);

	while (n->mappings.n <= number)
		TRY(vec_push(&n->mappings, 0));
	if (!n->mappings.v[number]) {
		struct unwind_load span = unwind_image_span(&module->image);
		struct mapping m = {.start = span.address,
				    .limit = span.address + span.size,
				    .offset = span.file_offset};
		char id[BUILD_ID_TEXT_MAX + 1];

		build_id_text(str_n(module->image.build_id, module->image.build_id_size), id);
		TRY(dict_module(n->dict, module->path, id, m, &n->mappings.v[number]));
	}
	*ret = n->mappings.v[number];
	return ERR_OK;
}

static enum err add_frame(struct names *n, struct frame f, const struct code_name *name)
{
	uint32_t id;

	TRY(dict_code_frame(n->dict, f, name, &id));
	return vec_push(&n->pool, id);
}

static enum err name_kernel(struct names *n, u64 address)
{
	struct frame f = {.address = address, .kind = KIND_KERNEL};
	struct kernel_symbol symbol;
	struct code_name name = {.linkage = "", .file = ""};
	char text[300];

	TRY(mapping_of(n, MODULE_KERNEL, &f.mapping));
	if (!n->options.background && !n->kernel_complete)
		read_kernel(n, SIZE_MAX);
	if (!n->kernel || !kernel_symbols_find(n->kernel, address, &symbol))
		return add_frame(n, f, NULL);
	snprintf(text, sizeof(text), symbol.module[0] ? "%s [%s]" : "%s", symbol.name,
		 symbol.module);
	name.function = text;
	return add_frame(n, f, &name);
}

static enum err name_jit(struct names *n, const struct process *process, u64 address)
{
	struct frame f = {.address = address, .kind = KIND_NATIVE};
	struct code_name name;
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
	if (!jit_symbols_find(n->jit, address, &s))
		return add_frame(n, f, NULL);
	name = (struct code_name){.function = s.function,
				  .linkage = s.linkage,
				  .file = s.file,
				  .line = s.line,
				  .column = s.column,
				  .start_line = s.start_line,
				  .inlined = s.inlined};
	return add_frame(n, f, &name);
}

static enum err note_unread(struct names *n, uint32_t mapping)
{
	vec_for_each (one, &n->unread)
		if (*one == mapping)
			return ERR_OK;
	return vec_push(&n->unread, mapping);
}

const uint32_t *names_unread(const struct names *n, size_t *ret_count)
{
	*ret_count = n->unread.n;
	return n->unread.v;
}

static enum err name_native(struct names *n, struct sample_frame where)
{
	const struct module *module = modules_get(n->modules, where.module);
	struct frame f = {.address = where.address,
			  .kind = module->image.go ? KIND_GO : KIND_NATIVE};
	const struct name_cache *c = &n->reader.cache;
	const struct cached_place *place = name_cache_find(c, module->serial, where.address);

	TRY(mapping_of(n, where.module, &f.mapping));
	if (!place || !place->count) {
		if (name_reader_refuses(&n->reader, module->serial))
			TRY(note_unread(n, f.mapping));
		return add_frame(n, f, NULL);
	}
	for (u32 i = 0; i < place->count; i++) {
		const struct cached_name *name = &c->names.v[place->first + i];
		struct code_name code = {.function = name_cache_text(c, name->function),
					 .linkage = name_cache_text(c, name->linkage),
					 .file = name_cache_text(c, name->file),
					 .line = name->line,
					 .column = name->column,
					 .start_line = name->start_line,
					 .inlined = name->inlined};

		TRY(add_frame(n, f, &code));
	}
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
	struct named *found =
		where.place ? &n->named.v[where.place - 1] : find_place(n, where, owner);

	if (!found)
		TRY(add_place(n, where, owner, &found));
	if (found->at == NOT_YET) {
		u32 at = (u32)n->pool.n;

		TRY(name_place(n, process, where));
		found->at = at;
		found->n = (u32)n->pool.n - at;
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

static void name_variable(struct names *n, const struct module *module, struct named_variable *v)
{
	struct str path = module->path;
	size_t slash = str_rfind(path, '/');
	char name[VARIABLE_NAME_MAX - 20];
	u64 offset;
	enum err e = name_reader_variable(&n->variable_reader, module, v->address, name,
					  sizeof(name), &offset);

	if (slash < path.n)
		path = str_skip(path, slash + 1);
	v->outside = e && e != ERR_NOT_FOUND;
	if (e)
		snprintf(v->text, sizeof(v->text), "%.*s+0x%llx",
			 (int)(path.n < 150 ? path.n : 150), path.p,
			 (unsigned long long)v->address);
	else if (offset)
		snprintf(v->text, sizeof(v->text), "%s+0x%llx", name, (unsigned long long)offset);
	else
		snprintf(v->text, sizeof(v->text), "%s", name);
}

static const struct named_variable *find_variable(const struct names *n, u64 serial, u64 address)
{
	vec_for_each (one, &n->variables)
		if (one->address == address && one->serial == serial)
			return one;
	return NULL;
}

bool names_variable(struct names *n, const struct process *process, u64 address,
		    char text[VARIABLE_NAME_MAX])
{
	const struct process_mapping *m = mapping_below(process, address);
	const struct module *module = m ? modules_get(n->modules, m->module) : NULL;
	const struct named_variable *known;
	struct named_variable fresh;

	if (!module)
		return false;
	known = find_variable(n, module->serial, address - m->bias);
	if (!known) {
		fresh = (struct named_variable){.serial = module->serial,
						.address = address - m->bias};
		name_variable(n, module, &fresh);
		if (n->variables.n == VARIABLES_MAX)
			n->variables.n = 0;
		/* Without memory it is looked for again the next time. */
		(void)!vec_push(&n->variables, fresh);
		known = &fresh;
	}
	memcpy(text, known->text, VARIABLE_NAME_MAX);
	return !known->outside;
}
