#include "agent/names.h"

#include <stdio.h>
#include <sys/epoll.h>

#include "agent/name_reader.h"
#include "base/clock.h"
#include "base/hash.h"
#include "symbols/symbols.h"

/* A place, and the index of its frames in the pool, which is set on first use. */
struct named {
	struct sample_frame where;
	u32 process; /* for code made at run time, which is one process's own */
	u32 at, n;
};

#define NOT_YET UINT32_MAX

/* In the background: batch the addresses of a file, but send the first request soon. */
#define FIRST_ASK_NS (500 * NS_PER_MS)
#define NEXT_ASK_NS  (7 * NS_PER_S)
/* Of the kernel's symbols at a time, which is 1 to 2 ms of CPU time, and how often. */
#define KERNEL_STEP  ((size_t)160 << 10)
#define KERNEL_PAUSE (200 * NS_PER_MS)

/* The total time to wait for symbols; each file has separate limits. */
#define LEARN_NS (120 * NS_PER_S)

struct names {
	struct modules *modules;
	struct names_options options;
	struct name_reader reader;
	struct dict *dict;
	struct kernel_symbols *kernel;
	bool kernel_tried, kernel_complete;
	bool kernel_wanted; /* gathered */
	int64_t next_ask, next_kernel, learn_ns;
	size_t kernel_step;
	VEC(uint32_t) mappings; /* in the dictionary, by number of module; 0 = not yet */
	VEC(uint32_t) unread;	/* of them, those whose file ended its worker */
	VEC(struct named) named;
	VEC(uint32_t) pool;
	VEC(struct wanted_name) wanted;
	struct map by_place;
};

enum err names_new(struct modules *m, const struct names_options *o, struct names **ret)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct names *n = mem_zalloc(1, sizeof(*n));
	enum err e;

	if (!n)
		return ERR_NO_MEMORY;
	n->modules = m;
	n->options = *o;
	n->learn_ns = o->learn_ns ? o->learn_ns : LEARN_NS;
	n->kernel_step = o->kernel_step ? o->kernel_step : KERNEL_STEP;
	n->next_ask = clock_monotonic_ns() + FIRST_ASK_NS;
	e = name_reader_init(&n->reader, o->debug, o->prober);
	if (e) {
		names_free(n);
		return e;
	}
	/* Without it answers are found with the next turn. */
	if (o->background && o->wake >= 0)
		(void)!epoll_ctl(o->wake, EPOLL_CTL_ADD, name_reader_fd(&n->reader), &event);
	*ret = n;
	return ERR_OK;
}

void names_end(struct names *n)
{
	n->dict = NULL;
	vec_release(&n->mappings);
	vec_release(&n->unread);
	vec_release(&n->named);
	vec_release(&n->pool);
	vec_release(&n->wanted);
	map_release(&n->by_place);
	name_reader_tidy(&n->reader);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	names_end(n);
	name_reader_release(&n->reader);
	kernel_symbols_free(n->kernel);
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

/* Whether a place that was not requested must be requested now. */
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
	return vec_push(&n->wanted, ((struct wanted_name){.module = where.module,
							  .serial = module->serial,
							  .address = where.address}));
}

static u64 code_serial(const struct process *process)
{
	return process->serial | CODE_SERIAL;
}

/* Code made at run time: one process's own. */
static enum err want_code(struct names *n, const struct process *process,
			  const struct sample_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		u64 address = frames[i].address;

		if (frames[i].module == MODULE_NONE &&
		    !name_cache_find(&n->reader.cache, code_serial(process), address))
			TRY(vec_push(&n->wanted,
				     ((struct wanted_name){.module = MODULE_NONE,
							   .pid = process->pid,
							   .owner = process->uid,
							   .serial = code_serial(process),
							   .address = address})));
	}
	return ERR_OK;
}

/* Every place once. */
static enum err gather_frames(struct names *n, struct sample_frame *frames, size_t count)
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

static const struct module *variable_module(struct names *n, const struct process *process,
					    u64 address, u64 *ret_address);

static enum err gather_row(struct names *n, const struct collector *c, const struct collected *one)
{
	const struct sample *s = &one->sample;
	const struct module *module;
	u64 address;

	TRY(want_code(n, s->process, collected_frames(c, one), s->frame_count));
	if (s->waker)
		TRY(want_code(n, s->waker, collected_waker(c, one), s->waker_frame_count));
	if (s->kind != RECORD_WAIT || !s->lock)
		return ERR_OK;
	module = variable_module(n, s->process, s->lock, &address);
	if (module)
		(void)name_reader_variable(&n->reader, module, address);
	return ERR_OK;
}

enum err names_gather(struct names *n, struct collector *c, struct gathered *g)
{
	if (c->frames.n > g->frames)
		TRY(gather_frames(n, c->frames.v + g->frames, c->frames.n - g->frames));
	g->frames = c->frames.n;
	for (; g->rows < c->list.n; g->rows++)
		TRY(gather_row(n, c, &c->list.v[g->rows]));
	return ERR_OK;
}

static enum err learn(struct names *n)
{
	enum err e = name_reader_learn(&n->reader, n->modules, n->wanted.v, n->wanted.n,
				       clock_monotonic_ns() + n->learn_ns);

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
		kernel = read_kernel(n, n->kernel_step);
		n->next_kernel = clock_monotonic_ns() + KERNEL_PAUSE;
	}
	if (name_reader_settle(&n->reader))
		want_again(n);
	if (name_reader_poll(&n->reader, &busy) != ERR_OK)
		return false;
	if (!n->wanted.n)
		return kernel && !busy;
	if (!now && clock_monotonic_ns() < n->next_ask)
		return false;
	/* If out of memory, it is requested again the next time. */
	if (name_reader_ask(&n->reader, n->modules, n->wanted.v, &n->wanted.n) == ERR_OK &&
	    !n->wanted.n)
		n->next_ask = clock_monotonic_ns() + NEXT_ASK_NS;
	return false;
}

void names_hurry(struct names *n, int64_t limit_ns)
{
	n->options.background = false;
	n->learn_ns = limit_ns;
}

enum err names_begin(struct names *n, struct dict *d, struct collector *c)
{
	struct gathered none = {0};

	if (!n->options.background) {
		names_end(n);
		vec_for_each (frame, &c->frames)
			frame->place = 0;
	}
	n->dict = d;
	TRY(names_gather(n, c, &none));
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

/* The names that are known of a place; none: its address. */
static enum err add_names(struct names *n, struct frame f, const struct cached_place *place)
{
	const struct name_cache *c = &n->reader.cache;

	if (!place || !place->count)
		return add_frame(n, f, NULL);
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

static enum err name_native(struct names *n, struct sample_frame where)
{
	const struct module *module = modules_get(n->modules, where.module);
	struct frame f = {.address = where.address,
			  .kind = module->image.go ? KIND_GO : KIND_NATIVE};
	const struct cached_place *place =
		name_cache_find(&n->reader.cache, module->serial, where.address);

	TRY(mapping_of(n, where.module, &f.mapping));
	if ((!place || !place->count) && name_reader_refuses(&n->reader, module->serial))
		TRY(note_unread(n, f.mapping));
	return add_names(n, f, place);
}

static enum err name_code(struct names *n, const struct process *process, u64 address)
{
	struct frame f = {.address = address, .kind = KIND_NATIVE};

	return add_names(n, f, name_cache_find(&n->reader.cache, code_serial(process), address));
}

static enum err name_place(struct names *n, const struct process *process,
			   struct sample_frame where)
{
	if (where.module == MODULE_KERNEL)
		return name_kernel(n, where.address);
	if (where.module == MODULE_NONE)
		return name_code(n, process, where.address);
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

/* Data follows the code of its file: take the nearest mapping below. */
static const struct process_mapping *mapping_below(const struct process *process, u64 address)
{
	const struct process_mapping *best = NULL;

	vec_for_each (m, &process->mappings)
		if (m->start <= address && m->module != MODULE_NONE && m->placed)
			best = m;
	return best;
}

static const struct module *variable_module(struct names *n, const struct process *process,
					    u64 address, u64 *ret_address)
{
	const struct process_mapping *m = mapping_below(process, address);

	if (!m)
		return NULL;
	*ret_address = address - m->bias;
	return modules_get(n->modules, m->module);
}

static void variable_text(const struct module *module, u64 address, const struct known_variable *v,
			  char text[VARIABLE_NAME_MAX])
{
	struct str path = module->path;
	size_t slash = str_rfind(path, '/');

	if (slash < path.n)
		path = str_skip(path, slash + 1);
	if (!v || v->asked || v->error)
		snprintf(text, VARIABLE_NAME_MAX, "%.*s+0x%llx", (int)(path.n < 150 ? path.n : 150),
			 path.p, (unsigned long long)address);
	else if (v->offset)
		snprintf(text, VARIABLE_NAME_MAX, "%.*s+0x%llx", VARIABLE_NAME_MAX - 20, v->name,
			 (unsigned long long)v->offset);
	else
		snprintf(text, VARIABLE_NAME_MAX, "%s", v->name);
}

bool names_variable(struct names *n, const struct process *process, u64 address,
		    char text[VARIABLE_NAME_MAX])
{
	const struct known_variable *v;
	const struct module *module = variable_module(n, process, address, &address);

	if (!module)
		return false;
	v = name_reader_variable(&n->reader, module, address);
	/* The gathered symbols were awaited. */
	if (v && v->asked && !n->options.background) {
		(void)!name_reader_wait(&n->reader, clock_monotonic_ns() + n->learn_ns);
		v = name_reader_variable(&n->reader, module, address);
	}
	variable_text(module, address, v, text);
	return v && (v->asked || !v->error || v->error == ERR_NOT_FOUND);
}
