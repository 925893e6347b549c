/*
 * /proc/kallsyms: "address type name[\t[module]]" per line, a hundred thousand of them. Kept are
 * functions, in 10 bytes and their name: the distance from the lowest address, the place of the
 * name, the number of the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "symbols/symbols.h"

#define SYMBOLS_MAX (1u << 20)
#define NAMES_MAX   ((size_t)64 << 20)
#define MODULES_MAX 4096
#define GAP	    4096 /* how far the last function of a module reaches */

struct entry {
	uint64_t address;
	uint32_t name; /* in names */
	uint16_t module;
	bool global;
};

struct table {
	uint64_t base;
	VEC(uint32_t) distance, name;
	VEC(uint16_t) module;
	VEC(char) names;
	VEC(uint32_t) modules; /* names of modules; 0 is the kernel */
};

#define LINES_ROOM 16384

struct reading {
	struct table t;
	VEC(struct entry) entries;
	bool hidden; /* addresses are all zero */
	bool any;
	int fd;
	size_t have; /* remaining part of a line */
	char lines[LINES_ROOM];
};

struct kernel_symbols {
	char *path;
	struct table t;
	struct reading *reading; /* NULL = it is complete */
};

static void table_release(struct table *t)
{
	vec_release(&t->distance);
	vec_release(&t->name);
	vec_release(&t->module);
	vec_release(&t->names);
	vec_release(&t->modules);
}

static enum err add_text(struct table *t, struct str text, uint32_t *ret)
{
	if (t->names.n > NAMES_MAX)
		return ERR_TOO_LARGE;
	*ret = (uint32_t)t->names.n;
	TRY(vec_append(&t->names, text.p, text.n));
	return vec_push(&t->names, '\0');
}

/* Symbols of a module stand together: mostly it is the one that came last. */
static enum err find_module(struct table *t, struct str name, uint16_t *ret)
{
	size_t n = t->modules.n;
	uint32_t text;

	for (size_t i = n; i-- > 0;) {
		if (str_eq(str_of(t->names.v + t->modules.v[i]), name)) {
			*ret = (uint16_t)i;
			return ERR_OK;
		}
	}
	if (n == MODULES_MAX)
		return ERR_TOO_LARGE;
	TRY(add_text(t, name, &text));
	TRY(vec_push(&t->modules, text));
	*ret = (uint16_t)n;
	return ERR_OK;
}

/* Padding before functions has symbols too; nothing runs there. */
static bool is_function(struct str type, struct str name)
{
	return type.n == 1 && strchr("tTwW", type.p[0]) && name.n &&
	       !str_starts(name, STR("__pfx_")) && !str_starts(name, STR("__cfi_"));
}

static enum err read_line(struct reading *r, struct str line)
{
	struct str address, type, name, module = {"", 0};
	struct entry e = {0};
	size_t tab;

	if (!str_split(&line, ' ', &address) || !str_split(&line, ' ', &type) ||
	    str_to_u64(address, 16, &e.address))
		return ERR_OK;
	tab = str_find(line, '\t');
	name = str_n(line.p, tab);
	if (tab < line.n)
		module = str_trim(str_skip(line, tab));
	if (module.n > 2 && module.p[0] == '[')
		module = str_n(module.p + 1, module.n - 2);
	if (!is_function(type, name) || r->entries.n == SYMBOLS_MAX)
		return ERR_OK;
	r->any = true;
	r->hidden &= !e.address;
	if (!e.address)
		return ERR_OK;
	e.global = type.p[0] == 'T' || type.p[0] == 'W';
	TRY(find_module(&r->t, module, &e.module));
	TRY(add_text(&r->t, name, &e.name));
	return vec_push(&r->entries, e);
}

/* Lines as they come, about so many bytes; a line longer than the buffer is left out. */
static enum err read_lines(struct reading *r, size_t bytes, bool *ret_end)
{
	ssize_t got = 1;

	for (size_t sum = 0; got && sum < bytes; sum += (size_t)got) {
		char *start = r->lines, *newline;

		got = read(r->fd, r->lines + r->have, sizeof(r->lines) - r->have);
		if (got < 0 && errno == EINTR) {
			got = 1;
			continue;
		}
		if (got < 0)
			return err_from_errno(errno);
		r->have += (size_t)got;
		while ((newline = memchr(start, '\n', r->have - (size_t)(start - r->lines)))) {
			TRY(read_line(r, str_n(start, (size_t)(newline - start))));
			start = newline + 1;
		}
		r->have -= (size_t)(start - r->lines);
		memmove(r->lines, start, r->have);
		if (r->have == sizeof(r->lines))
			r->have = 0;
	}
	*ret_end = !got;
	return ERR_OK;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

static int by_address(const void *pa, const void *pb, void *names)
{
	const struct entry *a = pa, *b = pb;
	const char *na, *nb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* The best name first: global, fewer underscores, shorter. */
	if (a->global != b->global)
		return a->global ? -1 : 1;
	na = (const char *)names + a->name;
	nb = (const char *)names + b->name;
	if (underscores(na) != underscores(nb))
		return underscores(na) < underscores(nb) ? -1 : 1;
	if (strlen(na) != strlen(nb))
		return strlen(na) < strlen(nb) ? -1 : 1;
	return strcmp(na, nb);
}

static bool is_sorted(const struct reading *r)
{
	for (size_t i = 1; i < r->entries.n; i++)
		if (by_address(&r->entries.v[i - 1], &r->entries.v[i], r->t.names.v) > 0)
			return false;
	return true;
}

/* The names that were chosen, in order of addresses and without room to spare. */
static enum err pack(struct reading *r)
{
	struct table packed = {0};
	uint64_t last = 0;
	enum err error = ERR_OK;

	/* The kernel gives them in order, all but those of a few modules. */
	if (!is_sorted(r))
		qsort_r(r->entries.v, r->entries.n, sizeof(*r->entries.v), by_address,
			r->t.names.v);
	packed.base = r->entries.n ? r->entries.v[0].address : 0;
	error = vec_append(&packed.modules, r->t.modules.v, r->t.modules.n);
	for (size_t i = 0; !error && i < packed.modules.n; i++)
		error = add_text(&packed, str_of(r->t.names.v + r->t.modules.v[i]),
				 &packed.modules.v[i]);
	for (size_t i = 0; !error && i < r->entries.n; i++) {
		struct entry *e = &r->entries.v[i];

		if ((i && e->address == last) || e->address - packed.base > UINT32_MAX)
			continue;
		last = e->address;
		error = vec_push(&packed.distance, (uint32_t)(e->address - packed.base));
		if (!error)
			error = add_text(&packed, str_of(r->t.names.v + e->name), &e->name);
		if (!error)
			error = vec_push(&packed.name, e->name);
		if (!error)
			error = vec_push(&packed.module, e->module);
	}
	table_release(&r->t);
	r->t = packed;
	return error;
}

static void reading_free(struct reading *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	vec_release(&r->entries);
	table_release(&r->t);
	mem_free(r);
}

static enum err finish(struct kernel_symbols *k, struct reading *r)
{
	if (r->any && r->hidden)
		return ERR_NO_PERMISSION;
	if (!r->any)
		return ERR_UNKNOWN_FORMAT;
	TRY(pack(r));
	table_release(&k->t);
	k->t = r->t;
	r->t = (struct table){0};
	return ERR_OK;
}

static enum err begin(struct kernel_symbols *k, struct fault *fault)
{
	struct reading *r = mem_zalloc(1, sizeof(*r));
	uint16_t kernel;

	if (!r)
		return ERR_NO_MEMORY;
	reading_free(k->reading);
	k->reading = r;
	r->hidden = true;
	r->fd = open(k->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return fault_set(fault, err_from_errno(errno), "%s: %s", k->path,
				 err_text(err_from_errno(errno)));
	return find_module(&r->t, STR(""), &kernel);
}

enum err kernel_symbols_continue(struct kernel_symbols *k, size_t bytes, bool *ret_complete,
				 struct fault *fault)
{
	bool end = true;
	enum err error = ERR_OK;

	if (k->reading)
		error = read_lines(k->reading, bytes, &end);
	if (!error && end && k->reading)
		error = finish(k, k->reading);
	if (error || end) {
		reading_free(k->reading);
		k->reading = NULL;
	}
	if (error == ERR_NO_PERMISSION)
		return fault_set(fault, error,
				 "%s shows no addresses: run as root or with CAP_SYSLOG, or "
				 "set kernel.kptr_restrict to 0",
				 k->path);
	if (error)
		return fault_set(fault, error, "%s: %s", k->path, err_text(error));
	*ret_complete = end;
	return ERR_OK;
}

enum err kernel_symbols_refresh(struct kernel_symbols *k, struct fault *fault)
{
	enum err error = begin(k, fault);
	bool complete;

	if (!error)
		error = kernel_symbols_continue(k, SIZE_MAX, &complete, fault);
	reading_free(k->reading);
	k->reading = NULL;
	return error;
}

enum err kernel_symbols_begin(const char *path, struct kernel_symbols **ret, struct fault *fault)
{
	struct kernel_symbols *k = mem_zalloc(1, sizeof(*k));
	enum err error = ERR_NO_MEMORY;

	if (!k)
		return ERR_NO_MEMORY;
	k->path = mem_strdup(path);
	if (k->path)
		error = begin(k, fault);
	if (error) {
		kernel_symbols_free(k);
		return error;
	}
	*ret = k;
	return ERR_OK;
}

enum err kernel_symbols_new(const char *path, struct kernel_symbols **ret, struct fault *fault)
{
	struct kernel_symbols *k;
	bool complete;
	enum err error;

	TRY(kernel_symbols_begin(path, &k, fault));
	error = kernel_symbols_continue(k, SIZE_MAX, &complete, fault);
	if (error) {
		kernel_symbols_free(k);
		return error;
	}
	*ret = k;
	return ERR_OK;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	reading_free(k->reading);
	table_release(&k->t);
	mem_free(k->path);
	mem_free(k);
}

size_t kernel_symbols_count(const struct kernel_symbols *k)
{
	return k->t.distance.n;
}

size_t kernel_symbols_memory(const struct kernel_symbols *k)
{
	const struct table *t = &k->t;

	return sizeof(*k) + 4 * (t->distance.cap + t->name.cap + t->modules.cap) +
	       2 * t->module.cap + t->names.cap;
}

bool kernel_symbols_find(const struct kernel_symbols *k, uint64_t address,
			 struct kernel_symbol *ret)
{
	const struct table *t = &k->t;
	size_t low = 0, high = t->distance.n;
	uint64_t start, end;

	if (address < t->base)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->base + t->distance.v[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low--)
		return false;
	start = t->base + t->distance.v[low];
	/* A function ends where the next begins; the last of a module ends somewhere behind. */
	end = (start + 2 * GAP - 1) / GAP * GAP;
	if (low + 1 < t->distance.n &&
	    (t->module.v[low + 1] == t->module.v[low] || t->base + t->distance.v[low + 1] < end))
		end = t->base + t->distance.v[low + 1];
	if (address >= end)
		return false;
	*ret = (struct kernel_symbol){t->names.v + t->name.v[low],
				      t->names.v + t->modules.v[t->module.v[low]], start};
	return true;
}
