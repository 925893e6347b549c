#include "server/agents.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

#define MAX_AGENTS 10000
#define FORGET_NS  (86400 * NS_PER_S)
#define MAX_TENANT 256

struct agent {
	char tenant[MAX_TENANT];
	int64_t seen_ns; /* monotonic, so that changes of the wall clock do not matter */
	struct agent_facts facts;
};

struct agents {
	struct mutex lock;
	VEC(struct agent *) list; /* by tenant, then host */
};

enum err agents_new(struct agents **ret)
{
	struct agents *a = mem_zalloc(1, sizeof(*a));

	if (!a)
		return ERR_NO_MEMORY;
	mutex_init(&a->lock);
	*ret = a;
	return ERR_OK;
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->list.n; i++)
		mem_free(a->list.v[i]);
	vec_release(&a->list);
	mutex_release(&a->lock);
	mem_free(a);
}

static bool take_text(char *to, size_t size, struct str from)
{
	if (!from.n || from.n >= size || !utf8_valid(from))
		return false;
	memcpy(to, from.p, from.n);
	to[from.n] = '\0';
	return true;
}

/* False when it does not say who it is. */
static bool read_header(struct str header, struct agent_facts *ret)
{
	const struct {
		struct str key;
		double *value;
	} numbers[] = {{STR("rate"), &ret->rate_hz},
		       {STR("cpu"), &ret->cpu_share},
		       {STR("memory"), &ret->memory_bytes},
		       {STR("samples"), &ret->samples_per_s},
		       {STR("dropped"), &ret->dropped}};
	struct str part;

	while (str_split(&header, ';', &part)) {
		size_t equals = str_find(part, '=');
		struct str key = str_trim(str_n(part.p, equals)),
			   value = str_trim(str_skip(part, equals + 1));
		double number;

		if (str_eq(key, STR("host")))
			(void)take_text(ret->host, sizeof(ret->host), value);
		if (str_eq(key, STR("version")))
			(void)take_text(ret->version, sizeof(ret->version), value);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			if (str_eq(key, numbers[i].key) &&
			    str_to_double(value, &number) == ERR_OK && isfinite(number) &&
			    number >= 0)
				*numbers[i].value = number;
	}
	return ret->host[0] != '\0';
}

static int compare(const struct agent *a, const char *tenant, const char *host)
{
	int order = strcmp(a->tenant, tenant);

	return order ? order : strcmp(a->facts.host, host);
}

/* Its index, or where to insert it. */
static size_t find(const struct agents *a, const char *tenant, const char *host)
{
	size_t low = 0, high = a->list.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(a->list.v[middle], tenant, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Removes agents that sent nothing for a day. */
static void forget(struct agents *a, int64_t steady_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->list.n; i++) {
		if (steady_ns - a->list.v[i]->seen_ns > FORGET_NS)
			mem_free(a->list.v[i]);
		else
			a->list.v[kept++] = a->list.v[i];
	}
	a->list.n = kept;
}

/* Behind the last one of the tenant of the one at `from`. */
static size_t end_of_tenant(const struct agents *a, size_t from)
{
	size_t to = from + 1;

	while (to < a->list.n && !strcmp(a->list.v[to]->tenant, a->list.v[from]->tenant))
		to++;
	return to;
}

static void drop(struct agents *a, size_t at)
{
	mem_free(a->list.v[at]);
	memmove(a->list.v + at, a->list.v + at + 1, (a->list.n - at - 1) * sizeof(*a->list.v));
	a->list.n--;
}

/* The tenant with most agents loses the one that was not heard of for the longest time. */
static void make_room(struct agents *a)
{
	size_t first = 0, end = 0, oldest;

	for (size_t i = 0, to; i < a->list.n; i = to) {
		to = end_of_tenant(a, i);
		if (to - i > end - first) {
			first = i;
			end = to;
		}
	}
	oldest = first;
	for (size_t i = first; i < end; i++)
		if (a->list.v[i]->seen_ns < a->list.v[oldest]->seen_ns)
			oldest = i;
	drop(a, oldest);
}

static void keep(struct agents *a, const struct agent *one)
{
	size_t at = find(a, one->tenant, one->facts.host);
	struct agent *fresh;

	if (at < a->list.n && !compare(a->list.v[at], one->tenant, one->facts.host)) {
		*a->list.v[at] = *one;
		return;
	}
	if (a->list.n >= MAX_AGENTS)
		forget(a, one->seen_ns);
	if (a->list.n >= MAX_AGENTS)
		make_room(a);
	at = find(a, one->tenant, one->facts.host);
	fresh = mem_alloc(sizeof(*fresh));
	if (!fresh || vec_reserve(&a->list, 1) != ERR_OK) {
		mem_free(fresh);
		return;
	}
	*fresh = *one;
	memmove(a->list.v + at + 1, a->list.v + at, (a->list.n - at) * sizeof(*a->list.v));
	a->list.v[at] = fresh;
	a->list.n++;
}

void agents_saw(struct agents *a, struct str tenant, struct str header, int64_t steady_ns)
{
	struct agent one = {.seen_ns = steady_ns};

	if (!a || !header.n || !take_text(one.tenant, sizeof(one.tenant), tenant) ||
	    !read_header(header, &one.facts))
		return;
	mutex_lock(&a->lock);
	keep(a, &one);
	mutex_unlock(&a->lock);
}

void agents_list(struct agents *a, struct str tenant, int64_t wall_ns, int64_t steady_ns,
		 void (*each)(void *context, const struct agent_facts *f), void *context)
{
	char name[MAX_TENANT];

	if (!a || !take_text(name, sizeof(name), tenant))
		return;
	mutex_lock(&a->lock);
	forget(a, steady_ns);
	for (size_t i = find(a, name, ""); i < a->list.n && !strcmp(a->list.v[i]->tenant, name);
	     i++) {
		struct agent *one = a->list.v[i];

		one->facts.last_seen_ns = wall_ns - (steady_ns - one->seen_ns);
		each(context, &one->facts);
	}
	mutex_unlock(&a->lock);
}
