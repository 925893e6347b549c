/* Frees unused modules and tables: see modules.h. */
#include <stdlib.h>

#include "agent/modules_internal.h"

/* A program that did not run for this long is read again when it returns. */
#define IDLE_MAX_NS    ((u64)300 * 1000000000)
#define IDLE_MAX       256u
/* Tables outside of the BPF maps: the agent unwinds their stacks, which is slow. */
#define HEAP_MAX       ((u64)2 << 20)
/* Rebuild the map when most of its entries are dead, because entries cannot be removed. */
#define DEAD_TOLERATED 512u

struct idle {
	u64 since;
	u32 number;
};

static bool is_idle(const struct module *module)
{
	return module && !module->users && module->state != MODULE_READING;
}

static int oldest_first(const void *a, const void *b)
{
	const struct idle *x = a, *y = b;

	return x->since < y->since ? -1 : x->since > y->since;
}

/* Without memory it is searched linearly through what is dead, until there is some. */
static void tidy_map(struct modules *m)
{
	if (m->by_file.n < 2 * m->live + DEAD_TOLERATED)
		return;
	map_clear(&m->by_file);
	for (u32 i = 0; i < m->list.n; i++)
		if (m->list.v[i] && !m->list.v[i]->forgotten &&
		    map_put(&m->by_file, module_file_hash(m->list.v[i]), i) != ERR_OK)
			m->list.v[i]->forgotten = true;
}

void module_keep_in_heap(struct modules *m, struct module *module, struct unwind_table *table)
{
	u64 bytes = table->blocks.n + (u64)table->page_count * sizeof(*table->pages);

	if (m->heap_bytes + bytes > HEAP_MAX) {
		module->no_table = true;
		return;
	}
	m->heap_bytes += bytes;
	module->in_heap = true;
	module->kept = *table;
	*table = (struct unwind_table){0};
}

void module_drop_heap(struct modules *m, struct module *module)
{
	if (!module->in_heap)
		return;
	m->heap_bytes -=
		module->kept.blocks.n + (u64)module->kept.page_count * sizeof(*module->kept.pages);
	unwind_table_release(&module->kept);
	module->in_heap = false;
}

void modules_drop_unread(struct modules *m)
{
	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++)
		if (is_idle(m->list.v[i]) && m->list.v[i]->state == MODULE_UNREAD)
			modules_remove(m, i);
	tidy_map(m);
}

void modules_make_room(struct modules *m)
{
	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++) {
		struct module *module = m->list.v[i];

		if (!is_idle(module) || !module->placed.pages.units)
			continue;
		module_untell(m, module);
		table_space_remove(m->space, &module->placed);
		module->no_table = true;
		/* It is read again if it is mapped again. */
		module->forgotten = true;
	}
}

/* Room may have come since. */
static void place_kept(struct modules *m)
{
	for (u32 i = MODULE_VDSO + 1; i < m->list.n && m->heap_bytes; i++) {
		struct module *module = m->list.v[i];

		if (!module || !module->in_heap ||
		    table_space_place(m->space, &module->kept, &module->placed) != ERR_OK)
			continue;
		module_drop_heap(m, module);
		module_tell(m, module);
		/* Told with the turn that follows. */
		module->settled = m->turn + 1;
		m->changed = true;
	}
}

void modules_tidy(struct modules *m, u64 now, u64 kept_since)
{
	VEC(struct idle) idle = {0};

	for (u32 i = MODULE_VDSO + 1; i < m->list.n; i++) {
		struct module *module = m->list.v[i];

		if (!is_idle(module))
			continue;
		if (!module->idle_since)
			module->idle_since = now;
		if (now - module->idle_since >= MODULE_IDLE_MIN_NS &&
		    module->idle_since < kept_since &&
		    vec_push(&idle, ((struct idle){module->idle_since, i})) != ERR_OK)
			break;
	}
	if (idle.n)
		qsort(idle.v, idle.n, sizeof(*idle.v), oldest_first);
	for (size_t i = 0; i < idle.n; i++)
		if (idle.n - i > IDLE_MAX || now - idle.v[i].since > IDLE_MAX_NS ||
		    m->list.v[idle.v[i].number]->forgotten)
			modules_remove(m, idle.v[i].number);
	vec_release(&idle);
	tidy_map(m);
	place_kept(m);
}

void modules_stats(const struct modules *m, struct modules_stats *ret)
{
	*ret = (struct modules_stats){.live = m->live,
				      .open = m->open,
				      .freed = m->freed,
				      .refused = m->refused,
				      .heap_bytes = m->heap_bytes};
	vec_for_each (module, &m->list)
		ret->idle += is_idle(*module);
}
