#include "net/clients.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/thread.h"

#define BUCKETS 1024

struct client {
	struct clients *all;
	struct client *next;
	unsigned connections, requests; /* under the lock */
	char *name;
};

struct clients {
	struct mutex lock;
	uint64_t seed;
	unsigned most;
	struct client *buckets[BUCKETS];
};

enum err clients_new(unsigned most, struct clients **ret)
{
	struct clients *c = mem_zalloc(1, sizeof(*c));

	if (!c)
		return ERR_NO_MEMORY;
	mutex_init(&c->lock);
	c->seed = hash_random_seed();
	c->most = most;
	*ret = c;
	return ERR_OK;
}

void clients_free(struct clients *c)
{
	if (!c)
		return;
	mutex_release(&c->lock);
	mem_free(c);
}

static struct client **bucket_of(struct clients *all, struct str name)
{
	return &all->buckets[hash_str(name, all->seed) % BUCKETS];
}

/* Requires the lock. NULL = no memory. */
static struct client *find(struct clients *all, struct str name)
{
	struct client **bucket = bucket_of(all, name), *c = *bucket;

	while (c && !str_eq(str_of(c->name), name))
		c = c->next;
	if (c)
		return c;
	c = mem_zalloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->name = mem_strndup(name.p, name.n);
	if (!c->name) {
		mem_free(c);
		return NULL;
	}
	c->all = all;
	c->next = *bucket;
	*bucket = c;
	return c;
}

/* Requires the lock. */
static void forget_unused(struct client *c)
{
	struct client **at;

	if (c->connections || c->requests)
		return;
	at = bucket_of(c->all, str_of(c->name));
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	mem_free(c->name);
	mem_free(c);
}

/* Requires the lock. */
static enum err check(const struct client *c, const struct client *before, struct fault *fault)
{
	unsigned most = c->all->most;

	if (c != before && c->connections >= most)
		return fault_set(
			fault, ERR_BUSY,
			"this tenant has %u connections, and may have no more; close some, "
			"or try again in a second",
			c->connections);
	if (c->requests >= most)
		return fault_set(fault, ERR_BUSY,
				 "this tenant has %u running requests, which is the limit; try "
				 "again in a second",
				 c->requests);
	return ERR_OK;
}

/* Requires the lock. */
static void move(struct client **connection, struct client *to)
{
	struct client *from = *connection;

	if (from == to)
		return;
	to->connections++;
	*connection = to;
	if (!from)
		return;
	from->connections--;
	forget_unused(from);
}

enum err clients_count(struct clients *all, struct str name, struct client **connection,
		       struct client **ret, struct fault *fault)
{
	enum err error = ERR_NO_MEMORY;
	struct client *c;

	mutex_lock(&all->lock);
	c = find(all, name);
	if (c)
		error = check(c, *connection, fault);
	if (error == ERR_OK) {
		c->requests++;
		move(connection, c);
		*ret = c;
	} else if (c) {
		forget_unused(c);
	}
	mutex_unlock(&all->lock);
	return error;
}

void client_drop_connection(struct client *c)
{
	struct clients *all = c ? c->all : NULL;

	if (!c)
		return;
	mutex_lock(&all->lock);
	c->connections--;
	forget_unused(c);
	mutex_unlock(&all->lock);
}

void client_drop_request(struct client *c)
{
	struct clients *all = c ? c->all : NULL;

	if (!c)
		return;
	mutex_lock(&all->lock);
	c->requests--;
	forget_unused(c);
	mutex_unlock(&all->lock);
}
