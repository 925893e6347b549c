#include "server/tenant_counts.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"

/* More than any real server has, so that invented names cannot fill the memory. */
#define MAX_TENANTS 10000

struct entry {
	char *tenant;
	struct tenant_numbers numbers;
};

struct tenant_counts {
	struct mutex lock;
	struct map by_name;
	VEC(struct entry) entries;
};

enum err tenant_counts_new(struct tenant_counts **ret)
{
	struct tenant_counts *c = mem_zalloc(1, sizeof(*c));

	if (!c)
		return ERR_NO_MEMORY;
	mutex_init(&c->lock);
	*ret = c;
	return ERR_OK;
}

void tenant_counts_free(struct tenant_counts *c)
{
	if (!c)
		return;
	vec_for_each (e, &c->entries)
		mem_free(e->tenant);
	vec_release(&c->entries);
	map_release(&c->by_name);
	mutex_release(&c->lock);
	mem_free(c);
}

static struct entry *find(struct tenant_counts *c, struct str tenant, uint64_t hash)
{
	MAP_PROBE(&c->by_name, hash, id)
	{
		if (str_eq(str_of(c->entries.v[id].tenant), tenant))
			return &c->entries.v[id];
	}
	return NULL;
}

static struct entry *find_or_add(struct tenant_counts *c, struct str tenant)
{
	uint64_t hash = hash_bytes(tenant.p, tenant.n, 0);
	struct entry *found = find(c, tenant, hash), fresh = {0};

	if (found || c->entries.n >= MAX_TENANTS)
		return found;
	fresh.tenant = mem_strndup(tenant.p, tenant.n);
	if (!fresh.tenant || vec_push(&c->entries, fresh) != ERR_OK) {
		mem_free(fresh.tenant);
		return NULL;
	}
	if (map_put(&c->by_name, hash, (uint32_t)c->entries.n - 1) != ERR_OK) {
		mem_free(c->entries.v[--c->entries.n].tenant);
		return NULL;
	}
	return &c->entries.v[c->entries.n - 1];
}

void tenant_counts_add(struct tenant_counts *c, struct str tenant, const struct tenant_numbers *n)
{
	struct entry *e;

	if (!c || !tenant.n)
		return;
	mutex_lock(&c->lock);
	e = find_or_add(c, tenant);
	if (e) {
		e->numbers.uploads += n->uploads;
		e->numbers.profiles += n->profiles;
		e->numbers.samples += n->samples;
		e->numbers.spans += n->spans;
		e->numbers.rejected_parts += n->rejected_parts;
		e->numbers.received_bytes += n->received_bytes;
	}
	mutex_unlock(&c->lock);
}

void tenant_counts_failed(struct tenant_counts *c, struct str tenant, enum err reason)
{
	struct entry *e;

	if (!c || !tenant.n)
		return;
	mutex_lock(&c->lock);
	e = find_or_add(c, tenant);
	if (e)
		e->numbers.failures[reason]++;
	mutex_unlock(&c->lock);
}

void tenant_counts_get(struct tenant_counts *c, struct str tenant, struct tenant_numbers *ret)
{
	struct entry *e;

	*ret = (struct tenant_numbers){0};
	if (!c)
		return;
	mutex_lock(&c->lock);
	e = find(c, tenant, hash_bytes(tenant.p, tenant.n, 0));
	if (e)
		*ret = e->numbers;
	mutex_unlock(&c->lock);
}
