#include "agent/name_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define CACHE_CEILING ((size_t)6 << 20)
#define REFUSED_MAX   4096u
#define AWAITED_MAX   256u
/* There are few variables, requested repeatedly. */
#define VARIABLES_MAX 512u

enum err name_reader_init(struct name_reader *r, struct debug_source *debug, struct prober *prober)
{
	*r = (struct name_reader){.debug = debug};
	name_cache_init(&r->cache, CACHE_CEILING);
	return name_line_new(debug, prober, &r->line);
}

void name_reader_release(struct name_reader *r)
{
	name_line_free(r->line);
	name_cache_release(&r->cache);
	vec_release(&r->refused);
	vec_release(&r->awaited);
	vec_release(&r->variables);
}

int name_reader_fd(const struct name_reader *r)
{
	return name_line_fd(r->line);
}

bool name_reader_refuses(const struct name_reader *r, u64 serial)
{
	vec_for_each (one, &r->refused)
		if (*one == serial)
			return true;
	return false;
}

static void refuse(struct name_reader *r, u64 serial)
{
	if (serial & CODE_SERIAL || name_reader_refuses(r, serial))
		return;
	/* Without memory to remember it, it is tried again. */
	if (r->refused.n >= REFUSED_MAX)
		r->refused.n = 0;
	(void)!vec_push(&r->refused, serial);
}

/* ---- questions ---- */

static int by_module(const void *a, const void *b)
{
	const struct wanted_name *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* The module a name is wanted of; NULL when it is another one by now. */
static const struct module *module_of(struct modules *m, const struct wanted_name *w)
{
	const struct module *module = modules_get(m, w->module);

	return module && (!w->serial || module->serial == w->serial) ? module : NULL;
}

/* For a module the ask has a descriptor of its own: the module may be given away meanwhile. */
static struct name_ask *new_ask(u32 kind, const struct module *module)
{
	struct name_ask *a = name_ask_new(kind);
	char *path;

	if (!a)
		return NULL;
	path = mem_strndup(module->path.p, module->path.n);
	a->path = str_n(path, path ? module->path.n : 0);
	a->fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 3);
	a->serial = module->serial;
	a->owner = module->owner;
	a->weight = module->size;
	a->pid = module->pid;
	a->image = module->image;
	if (path && a->fd >= 0)
		return a;
	name_ask_free(a);
	return NULL;
}

static struct name_ask *new_code_ask(const struct wanted_name *w)
{
	struct name_ask *a = name_ask_new(WIRE_CODE);

	if (!a)
		return NULL;
	a->serial = w->serial;
	a->owner = w->owner;
	a->pid = w->pid;
	return a;
}

static enum err push(struct name_reader *r, struct name_ask *a)
{
	TRY(name_line_push(r->line, a));
	r->outstanding++;
	return ERR_OK;
}

/* One request: the unknown addresses of the first file in the list. */
static enum err ask_some(struct name_reader *r, struct modules *m, const struct wanted_name *wanted,
			 size_t count)
{
	bool code = wanted->module == MODULE_NONE;
	const struct module *module = code ? NULL : module_of(m, wanted);
	u64 serial = code ? wanted->serial : module ? module->serial : 0;
	struct name_ask *a;
	enum err e = ERR_OK;

	if (!code && !module)
		return ERR_OK;
	if (!code && (module->fd < 0 || name_reader_refuses(r, serial)))
		return name_cache_add_nameless(&r->cache, serial);
	a = code ? new_code_ask(wanted) : new_ask(WIRE_NAMES, module);
	if (!a)
		return ERR_NO_MEMORY;
	for (size_t i = 0; !e && i < count; i++)
		if ((!i || wanted[i].address != wanted[i - 1].address) &&
		    !name_cache_find(&r->cache, serial, wanted[i].address))
			e = vec_push(&a->addresses, wanted[i].address);
	if (e || !a->addresses.n) {
		name_ask_free(a);
		return e;
	}
	return push(r, a);
}

enum err name_reader_ask(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			 size_t *count)
{
	size_t at = 0, n;
	enum err e = ERR_OK;

	if (*count)
		qsort(wanted, *count, sizeof(*wanted), by_module);
	for (; at < *count; at += n) {
		const struct wanted_name *first = &wanted[at];

		for (n = 1; at + n < *count && n < WIRE_ADDRESSES_MAX &&
			    wanted[at + n].module == first->module &&
			    wanted[at + n].serial == first->serial;)
			n++;
		e = ask_some(r, m, first, n);
		if (e)
			break;
	}
	memmove(wanted, wanted + at, (*count - at) * sizeof(*wanted));
	*count -= at;
	/* Enough requests are outstanding: the rest is requested later. */
	if (e && e != ERR_TOO_LARGE)
		return e;
	return name_cache_settle(&r->cache);
}

/* ---- answers ---- */

/* Without memory to remember it, it is named when everything is forgotten. */
static void await(struct name_reader *r, const struct name_ask *a)
{
	vec_for_each (one, &r->awaited)
		if (one->serial == a->serial)
			return;
	if (r->awaited.n < AWAITED_MAX)
		(void)!vec_push(&r->awaited, ((struct awaited_module){a->serial, a->image}));
}

static struct known_variable *find_variable(struct name_reader *r, u64 serial, u64 address)
{
	vec_for_each (one, &r->variables)
		if (one->address == address && one->serial == serial)
			return one;
	return NULL;
}

static void take_variable(struct name_reader *r, const struct name_ask *a)
{
	struct known_variable *v = find_variable(r, a->serial, a->addresses.v[0]);
	struct str text = buf_view(&a->answer);

	if (!v)
		return;
	v->asked = false;
	v->error = a->error ? a->error : (enum err)a->head.error;
	if (!v->error && text.n < sizeof(v->offset))
		v->error = ERR_CORRUPT;
	if (v->error)
		return;
	memcpy(&v->offset, text.p, sizeof(v->offset));
	text = str_skip(text, sizeof(v->offset));
	if (text.n >= sizeof(v->name))
		text.n = sizeof(v->name) - 1;
	memcpy(v->name, text.p, text.n);
	v->name[text.n] = 0;
}

/* Places of code are known for one window; without a file, or for now, they have no names. */
static enum err add_nameless(struct name_reader *r, const struct name_ask *a)
{
	if (a->kind == WIRE_CODE || a->error == ERR_OK)
		return name_cache_add_nameless(&r->cache, a->serial);
	/* Workers were prevented from working: the next window tries again. */
	if (a->error == ERR_UNAVAILABLE || a->error == ERR_NO_MEMORY)
		return ERR_OK;
	refuse(r, a->serial);
	return name_cache_add_nameless(&r->cache, a->serial);
}

static enum err take_names(struct name_reader *r, struct name_ask *a)
{
	enum err e = a->error;

	if (a->debug_pending)
		await(r, a);
	if (!e && !a->head.error)
		e = name_cache_add(&r->cache, a->serial, a->addresses.v, (u32)a->addresses.n,
				   buf_view(&a->answer));
	if (!e && !a->head.error)
		return ERR_OK;
	a->error = e;
	return add_nameless(r, a);
}

enum err name_reader_poll(struct name_reader *r, bool *ret_busy)
{
	struct name_ask *a;
	bool any = false;
	enum err e = ERR_OK;

	while (!e && (a = name_line_take(r->line))) {
		r->outstanding--;
		any = true;
		if (a->kind == WIRE_VARIABLE)
			take_variable(r, a);
		else
			e = take_names(r, a);
		name_ask_free(a);
	}
	*ret_busy = r->outstanding > 0;
	return e || !any ? e : name_cache_settle(&r->cache);
}

enum err name_reader_wait(struct name_reader *r, int64_t deadline)
{
	bool busy;

	TRY(name_reader_poll(r, &busy));
	while (busy && name_line_wait(r->line, deadline))
		TRY(name_reader_poll(r, &busy));
	return ERR_OK;
}

enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count, int64_t deadline)
{
	bool busy = true;

	TRY(name_reader_ask(r, m, wanted, &count));
	while (count && busy && name_line_wait(r->line, deadline)) {
		TRY(name_reader_poll(r, &busy));
		TRY(name_reader_ask(r, m, wanted, &count));
		busy = r->outstanding > 0;
	}
	return name_reader_wait(r, deadline);
}

bool name_reader_settle(struct name_reader *r)
{
	size_t kept = 0, before = r->awaited.n;

	for (size_t i = 0; i < before; i++) {
		if (debug_source_pending(r->debug, &r->awaited.v[i].image))
			r->awaited.v[kept++] = r->awaited.v[i];
		else
			name_cache_forget(&r->cache, r->awaited.v[i].serial);
	}
	r->awaited.n = kept;
	return kept < before;
}

/* Outstanding requests have no place any more: drop their answers. */
static void make_variable_room(struct name_reader *r)
{
	if (r->variables.n >= VARIABLES_MAX)
		r->variables.n = 0;
}

const struct known_variable *name_reader_variable(struct name_reader *r,
						  const struct module *module, u64 address)
{
	struct known_variable *v = find_variable(r, module->serial, address);
	struct name_ask *a;

	if (v)
		return v;
	if (module->fd < 0 || name_reader_refuses(r, module->serial))
		return NULL;
	make_variable_room(r);
	a = new_ask(WIRE_VARIABLE, module);
	if (!a || vec_push(&a->addresses, address) != ERR_OK ||
	    vec_push(&r->variables, ((struct known_variable){.serial = module->serial,
							     .address = address,
							     .asked = true})) != ERR_OK) {
		name_ask_free(a);
		return NULL;
	}
	if (push(r, a) != ERR_OK) {
		r->variables.n--;
		return NULL;
	}
	return &r->variables.v[r->variables.n - 1];
}

void name_reader_tidy(struct name_reader *r)
{
	name_cache_forget_code(&r->cache);
	name_cache_tidy(&r->cache);
}
