#include "server/rates.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

#define BURST_SECONDS 2
#define MAX_TENANTS   10000

struct bucket {
	char *tenant;
	double bytes;
	int64_t filled_ns;
};

struct rate_limits {
	uint64_t rate;
	struct mutex lock;
	VEC(struct bucket) buckets;
};

enum err rates_new(uint64_t bytes_per_second, struct rate_limits **ret)
{
	struct rate_limits *r = mem_zalloc(1, sizeof(*r));

	if (!r)
		return ERR_NO_MEMORY;
	r->rate = bytes_per_second;
	mutex_init(&r->lock);
	*ret = r;
	return ERR_OK;
}

void rates_free(struct rate_limits *r)
{
	if (!r)
		return;
	vec_for_each (b, &r->buckets)
		mem_free(b->tenant);
	vec_release(&r->buckets);
	mutex_release(&r->lock);
	mem_free(r);
}

/* A bucket that has had the time to fill is as good as none. */
static void forget_full(struct rate_limits *r, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->buckets.n; i++) {
		struct bucket b = r->buckets.v[i];
		double seconds = (double)(now - b.filled_ns) / NS_PER_S;

		if (b.bytes + (double)r->rate * seconds >= (double)r->rate * BURST_SECONDS)
			mem_free(b.tenant);
		else
			r->buckets.v[kept++] = b;
	}
	r->buckets.n = kept;
}

static enum err find_bucket(struct rate_limits *r, struct str tenant, struct bucket **ret)
{
	struct bucket fresh = {.bytes = (double)r->rate * BURST_SECONDS,
			       .filled_ns = clock_monotonic_ns()};
	enum err error;

	vec_for_each (b, &r->buckets)
		if (str_eq(str_of(b->tenant), tenant)) {
			*ret = b;
			return ERR_OK;
		}
	if (r->buckets.n >= MAX_TENANTS)
		forget_full(r, fresh.filled_ns);
	if (r->buckets.n >= MAX_TENANTS)
		return ERR_BUSY;
	fresh.tenant = mem_strndup(tenant.p, tenant.n);
	if (!fresh.tenant)
		return ERR_NO_MEMORY;
	error = vec_push(&r->buckets, fresh);
	if (error != ERR_OK) {
		mem_free(fresh.tenant);
		return error;
	}
	*ret = &r->buckets.v[r->buckets.n - 1];
	return ERR_OK;
}

/* A bucket may go below zero once: an upload larger than the burst passes alone. */
static enum err take(struct rate_limits *r, struct str tenant, size_t bytes)
{
	int64_t now = clock_monotonic_ns();
	double most = (double)r->rate * BURST_SECONDS;
	struct bucket *b;

	TRY(find_bucket(r, tenant, &b));
	b->bytes += (double)r->rate * (double)(now - b->filled_ns) / NS_PER_S;
	b->bytes = b->bytes < most ? b->bytes : most;
	b->filled_ns = now;
	if (b->bytes <= 0)
		return ERR_BUSY;
	b->bytes -= (double)bytes;
	return ERR_OK;
}

enum err rates_take(struct rate_limits *r, struct str tenant, size_t bytes, struct fault *fault)
{
	enum err error;

	if (!r->rate)
		return ERR_OK;
	mutex_lock(&r->lock);
	error = take(r, tenant, bytes);
	mutex_unlock(&r->lock);
	if (error == ERR_BUSY)
		return fault_set(fault, error,
				 "the tenant sends more than %llu bytes a second; try again later",
				 (unsigned long long)r->rate);
	return error;
}

struct str basic_password(struct arena *arena, struct str base64)
{
	uint8_t *text = arena_alloc(arena, base64.n + 1);
	size_t n;

	if (!text || !base64_decode(base64, text, &n))
		return (struct str){0};
	struct str pair = str_n(text, n);

	return str_skip(pair, str_find(pair, ':') + 1);
}
