#include "server/symbol_parts.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/vec.h"

#define ALL_MAX	   64u
#define TENANT_MAX 4u
#define ID_MAX	   64u
#define IDLE_NS	   (600 * NS_PER_S)

struct coming {
	char *tenant, *id;
	char path[4096];
	int fd;
	uint64_t received;
	int64_t seen_ns;
	bool busy; /* a thread has it */
};

struct symbol_parts {
	uint64_t max_file;
	struct mutex lock;
	VEC(struct coming *) files;
};

enum err symbol_parts_new(uint64_t max_file, struct symbol_parts **ret)
{
	struct symbol_parts *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return ERR_NO_MEMORY;
	p->max_file = max_file;
	mutex_init(&p->lock);
	*ret = p;
	return ERR_OK;
}

/* Also removes its file, unless it was added to a store. */
static void coming_free(struct coming *c)
{
	if (c->fd >= 0) {
		close(c->fd);
		unlink(c->path);
	}
	mem_free(c->tenant);
	mem_free(c->id);
	mem_free(c);
}

void symbol_parts_free(struct symbol_parts *p)
{
	if (!p)
		return;
	vec_for_each (c, &p->files)
		coming_free(*c);
	vec_release(&p->files);
	mutex_release(&p->lock);
	mem_free(p);
}

static void forget(struct symbol_parts *p, const struct coming *which)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (p->files.v[i] == which) {
			coming_free(p->files.v[i]);
			p->files.v[i] = p->files.v[--p->files.n];
			return;
		}
}

static void forget_idle(struct symbol_parts *p)
{
	int64_t now = clock_monotonic_ns();

	for (size_t i = p->files.n; i-- > 0;)
		if (!p->files.v[i]->busy && now - p->files.v[i]->seen_ns > IDLE_NS)
			forget(p, p->files.v[i]);
}

static struct coming *find(struct symbol_parts *p, const struct symbol_part *part)
{
	vec_for_each (c, &p->files)
		if (str_eq(str_of((*c)->id), part->id) &&
		    str_eq(str_of((*c)->tenant), part->tenant))
			return *c;
	return NULL;
}

static enum err begin(struct symbol_parts *p, struct symbol_store *store,
		      const struct symbol_part *part, struct coming **ret, struct fault *fault)
{
	struct coming *c;
	size_t own = 0;
	enum err error;

	vec_for_each (one, &p->files)
		own += str_eq(str_of((*one)->tenant), part->tenant);
	if (own >= TENANT_MAX || p->files.n >= ALL_MAX)
		return fault_set(fault, ERR_BUSY,
				 "%u symbol files are being sent already; try again later",
				 own >= TENANT_MAX ? TENANT_MAX : ALL_MAX);
	c = mem_zalloc(1, sizeof(*c));
	if (!c)
		return ERR_NO_MEMORY;
	c->fd = -1;
	c->tenant = mem_strndup(part->tenant.p, part->tenant.n);
	c->id = mem_strndup(part->id.p, part->id.n);
	error = c->tenant && c->id
			? symbol_store_begin(store, &c->fd, c->path, sizeof(c->path), fault)
			: ERR_NO_MEMORY;
	if (!error)
		error = vec_push(&p->files, c);
	if (error)
		coming_free(c);
	else
		*ret = c;
	return error;
}

/* With the lock held: whose turn it is, marked as busy. */
static enum err take(struct symbol_parts *p, struct symbol_store *store,
		     const struct symbol_part *part, struct coming **ret, struct fault *fault)
{
	struct coming *c = find(p, part);

	if (c && c->busy)
		return fault_set(fault, ERR_BUSY, "the part before is still being written");
	/* Offset 0 restarts an upload. */
	if (c && !part->offset) {
		forget(p, c);
		c = NULL;
	}
	if (!c && part->offset)
		return fault_set(fault, ERR_NOT_FOUND,
				 "this file was not begun, or too long ago: send it again from its "
				 "begin");
	if (!c) {
		forget_idle(p);
		TRY(begin(p, store, part, &c, fault));
	}
	if (c->received != part->offset)
		return fault_set(fault, ERR_EXISTS, "the next part begins at %llu",
				 (unsigned long long)c->received);
	c->busy = true;
	*ret = c;
	return ERR_OK;
}

static enum err check(const struct symbol_parts *p, const struct symbol_part *part,
		      struct fault *fault)
{
	for (size_t i = 0; i < part->id.n; i++)
		if (!((part->id.p[i] | 32) >= 'a' && (part->id.p[i] | 32) <= 'z') &&
		    !(part->id.p[i] >= '0' && part->id.p[i] <= '9'))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "upload is letters and digits, %u at most", ID_MAX);
	if (!part->id.n || part->id.n > ID_MAX)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "upload is letters and digits, %u at most", ID_MAX);
	if (!part->bytes.n)
		return fault_set(fault, ERR_TRUNCATED, "there is nothing in it");
	if (part->size > p->max_file)
		return fault_set(fault, ERR_TOO_LARGE,
				 "it has %llu MiB, files of up to %llu MiB are taken",
				 (unsigned long long)(part->size >> 20),
				 (unsigned long long)(p->max_file >> 20));
	if (part->offset > part->size || part->bytes.n > part->size - part->offset)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the part does not lie in its file");
	return ERR_OK;
}

static enum err write_part(struct coming *c, struct symbol_store *store,
			   const struct symbol_part *part, bool *ret_done, struct symbol_item *ret,
			   struct fault *fault)
{
	TRY(write_all(c->fd, part->bytes.p, part->bytes.n));
	c->received += part->bytes.n;
	c->seen_ns = clock_monotonic_ns();
	*ret_done = c->received == part->size;
	if (!*ret_done)
		return ERR_OK;
	TRY(symbol_store_take(store, c->fd, c->path, (struct str){0}, ret, fault));
	close(c->fd);
	c->fd = -1;
	return ERR_OK;
}

enum err symbol_parts_add(struct symbol_parts *p, struct symbol_store *store,
			  const struct symbol_part *part, bool *ret_done, struct symbol_item *ret,
			  struct fault *fault)
{
	struct coming *c = NULL;
	enum err error;

	*ret_done = false;
	TRY(check(p, part, fault));
	mutex_lock(&p->lock);
	error = take(p, store, part, &c, fault);
	mutex_unlock(&p->lock);
	if (error)
		return error;
	error = write_part(c, store, part, ret_done, ret, fault);
	mutex_lock(&p->lock);
	c->busy = false;
	if (error || *ret_done)
		forget(p, c);
	mutex_unlock(&p->lock);
	return error;
}
