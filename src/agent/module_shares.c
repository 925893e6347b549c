/*
 * What modules share: descriptors, by the user whose process mapped the file, and memory of tables,
 * by the file's owner. When all of it is in use, the user with the largest share gives some to the
 * user who asks, so that no user's files keep those of others from being read.
 */
#include <unistd.h>

#include "agent/modules_internal.h"

static struct user_files *find(struct modules *m, u32 user)
{
	vec_for_each (one, &m->users)
		if (one->user == user)
			return one;
	return NULL;
}

void module_count_open(struct modules *m, const struct module *module, bool open)
{
	struct user_files *one = find(m, module->user);

	m->open += open ? 1 : -1u;
	/* Without memory for the list the user's files count for nobody. */
	if (!one && open && vec_push(&m->users, ((struct user_files){module->user, 0})) == ERR_OK)
		one = &m->users.v[m->users.n - 1];
	if (!one)
		return;
	one->open += open ? 1 : one->open ? -1u : 0;
	if (!one->open)
		*one = m->users.v[--m->users.n];
}

/* One that is being read, or opened, is in use by another thread. */
static bool may_close(const struct module *module, u32 user)
{
	return module && module->user == user && module->fd >= 0 && module->state != MODULE_READING;
}

static struct module *next_of(struct modules *m, u32 user)
{
	for (size_t i = 0; i < m->list.n; i++) {
		struct module *module = m->list.v[m->cursor++ % m->list.n];

		if (may_close(module, user))
			return module;
	}
	return NULL;
}

void modules_close_one(struct modules *m, u32 user)
{
	const struct user_files *own = find(m, user), *most = NULL;
	struct module *module;

	vec_for_each (one, &m->users)
		if (!most || one->open > most->open)
			most = one;
	if (!most || most->open <= (own ? own->open : 0) + 1)
		return;
	module = next_of(m, most->user);
	if (!module)
		return;
	close(module->fd);
	module->fd = -1;
	if (module->state == MODULE_UNREAD) {
		module->state = MODULE_FAILED;
		module->settled = m->turn;
		m->changed = true;
	}
	m->refused++;
	module_count_open(m, module, false);
}

/* ---- tables ---- */

struct owner_bytes {
	u32 owner;
	u64 bytes;
};

static u64 bytes_of(const struct module *module)
{
	u64 units = module->placed.pages.units, heap = 0;

	vec_for_each (run, &module->placed.runs)
		units += run->units;
	if (module->in_heap)
		heap = module->kept.blocks.n +
		       (u64)module->kept.page_count * sizeof(*module->kept.pages);
	return units * UNWIND_UNIT + heap;
}

static u64 sum_of(const struct modules *m, u32 owner)
{
	u64 sum = 0;

	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++)
		if (m->list.v[i] && m->list.v[i]->owner == owner)
			sum += bytes_of(m->list.v[i]);
	return sum;
}

/* The owner with most. Without memory for the list nobody gives way, or somebody with less. */
static struct owner_bytes find_most(const struct modules *m)
{
	struct owner_bytes most = {0};
	VEC(struct owner_bytes) seen = {0};

	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++) {
		const struct module *module = m->list.v[i];
		struct owner_bytes *one = NULL;
		u64 bytes = module ? bytes_of(module) : 0;

		if (!bytes)
			continue;
		vec_for_each (owner, &seen)
			if (owner->owner == module->owner)
				one = owner;
		if (!one && vec_push(&seen, ((struct owner_bytes){module->owner, 0})) != ERR_OK)
			break;
		one = one ? one : &seen.v[seen.n - 1];
		one->bytes += bytes;
		if (one->bytes > most.bytes)
			most = *one;
	}
	vec_release(&seen);
	return most;
}

static struct module *newest_of(const struct modules *m, u32 owner)
{
	struct module *newest = NULL;

	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++) {
		struct module *module = m->list.v[i];

		if (module && module->owner == owner && bytes_of(module) &&
		    (!newest || module->serial > newest->serial))
			newest = module;
	}
	return newest;
}

void modules_take_tables(struct modules *m, u32 owner, u64 bytes)
{
	struct owner_bytes most = find_most(m);
	/* More than it takes, since the runs of a table lie in pieces. */
	u64 own = sum_of(m, owner) + bytes, wanted = 2 * bytes, freed = 0;
	struct module *module;

	while (freed < wanted && most.owner != owner && most.bytes > own + freed &&
	       (module = newest_of(m, most.owner))) {
		freed += bytes_of(module);
		module_untell(m, module);
		if (module->placed.pages.units)
			table_space_remove(m->space, &module->placed);
		module_drop_heap(m, module);
		module->no_table = true;
		module->settled = m->turn;
		m->changed = true;
	}
}
