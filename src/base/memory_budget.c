#include "base/memory_budget.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"

#define CACHES_MAX    16
#define BUCKETS	      1024
#define KEPT_ACCOUNTS 1000	       /* unused accounts that are kept for their statistics */
#define WAIT_STEP_NS  (50 * NS_PER_MS) /* how often a waiting thread checks `stop` */

struct tally {
	atomic_size_t used, peak, refused;
	atomic_size_t by_use[MEMORY_USES_];
};

struct memory_account {
	struct memory_budget *budget;
	struct tally tally;
	atomic_size_t firm; /* used, without caches, which can be freed */
	size_t references;  /* under the budget's lock */
	struct memory_account *next;
	char *name;
};

struct memory_budget {
	size_t limit;
	struct tally tally;
	atomic_size_t ceilings[MEMORY_USES_];
	atomic_size_t measured, waited, shrunk;
	struct cache {
		memory_shrink *shrink;
		void *context;
	} caches[CACHES_MAX];
	size_t cache_count;
	/* Accounts by name. */
	struct mutex lock;
	uint64_t seed;
	struct memory_account *buckets[BUCKETS];
	size_t unused;
	/* Waiting threads. */
	struct mutex wait_lock;
	struct cond freed;
	atomic_uint waiting;
};

static const char *const names[MEMORY_USES_] = {
	[MEMORY_RECEIVED] = "received",	      [MEMORY_DECOMPRESSED] = "decompressed",
	[MEMORY_DECODED] = "decoded",	      [MEMORY_WORKING] = "working",
	[MEMORY_CACHED] = "cached",	      [MEMORY_UNSENT] = "unsent",
	[MEMORY_CONNECTIONS] = "connections",
};

const char *memory_use_name(enum memory_use use)
{
	return names[use];
}

enum err memory_budget_new(size_t limit, struct memory_budget **ret)
{
	struct memory_budget *b = mem_zalloc(1, sizeof(*b));

	if (!b)
		return ERR_NO_MEMORY;
	b->limit = limit;
	b->seed = hash_random_seed();
	for (int i = 0; i < MEMORY_USES_; i++)
		atomic_init(&b->ceilings[i], SIZE_MAX);
	mutex_init(&b->lock);
	mutex_init(&b->wait_lock);
	cond_init(&b->freed);
	*ret = b;
	return ERR_OK;
}

static void account_free(struct memory_account *a)
{
	mem_free(a->name);
	mem_free(a);
}

void memory_budget_free(struct memory_budget *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (b->buckets[i]) {
			struct memory_account *a = b->buckets[i];

			b->buckets[i] = a->next;
			account_free(a);
		}
	cond_release(&b->freed);
	mutex_release(&b->wait_lock);
	mutex_release(&b->lock);
	mem_free(b);
}

void memory_budget_set_ceiling(struct memory_budget *b, enum memory_use use, size_t ceiling)
{
	atomic_store(&b->ceilings[use], ceiling);
}

/* ------------------------------------------------------------------ accounts */

/* Frees unused accounts if there are many; requires the lock. */
static void forget_unused(struct memory_budget *b)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct memory_account **at = &b->buckets[i], *a; (a = *at);) {
			if (a->references) {
				at = &a->next;
				continue;
			}
			*at = a->next;
			account_free(a);
		}
	b->unused = 0;
}

static struct memory_account *account_new(struct memory_budget *b, struct str name,
					  struct memory_account **bucket)
{
	struct memory_account *a = mem_zalloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->budget = b;
	a->name = mem_strndup(name.p, name.n);
	if (!a->name) {
		mem_free(a);
		return NULL;
	}
	a->next = *bucket;
	*bucket = a;
	return a;
}

enum err memory_account_get(struct memory_budget *b, struct str name, struct memory_account **ret)
{
	struct memory_account **bucket = &b->buckets[hash_str(name, b->seed) % BUCKETS], *a;

	mutex_lock(&b->lock);
	for (a = *bucket; a && !str_eq(str_of(a->name), name);)
		a = a->next;
	if (a) {
		b->unused -= !a->references;
	} else {
		if (b->unused > KEPT_ACCOUNTS)
			forget_unused(b);
		a = account_new(b, name, bucket);
	}
	if (a)
		a->references++;
	mutex_unlock(&b->lock);
	*ret = a;
	return a ? ERR_OK : ERR_NO_MEMORY;
}

struct memory_account *memory_account_keep(struct memory_account *a)
{
	if (!a)
		return NULL;
	mutex_lock(&a->budget->lock);
	a->references++;
	mutex_unlock(&a->budget->lock);
	return a;
}

void memory_account_put(struct memory_account *a)
{
	if (!a)
		return;
	struct memory_budget *b = a->budget;

	mutex_lock(&b->lock);
	if (!--a->references)
		b->unused++;
	mutex_unlock(&b->lock);
}

/* ------------------------------------------------------------------ charging */

/* False, without any change, if that would exceed the ceiling. */
static bool add_below(atomic_size_t *value, size_t n, size_t ceiling)
{
	size_t before = atomic_load_explicit(value, memory_order_relaxed);

	do {
		if (n > ceiling || before > ceiling - n)
			return false;
	} while (!atomic_compare_exchange_weak(value, &before, before + n));
	return true;
}

static void raise(atomic_size_t *peak, size_t value)
{
	size_t before = atomic_load_explicit(peak, memory_order_relaxed);

	while (before < value && !atomic_compare_exchange_weak(peak, &before, value))
		;
}

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

static size_t three_quarters(size_t n)
{
	return n - n / 4;
}

static size_t account_ceiling(const struct memory_budget *b)
{
	return b->limit / 2;
}

/* The limit on the total up to which this account may grow. */
static size_t ceiling_for(struct memory_account *a, size_t n)
{
	struct memory_budget *b = a->budget;
	size_t small = b->limit / 16;
	bool is_small = n <= small && atomic_load(&a->firm) <= small - n;

	return less(is_small ? b->limit : three_quarters(b->limit), atomic_load(&b->measured));
}

static bool try_charge(struct memory_account *a, enum memory_use use, size_t n)
{
	struct memory_budget *b = a->budget;
	size_t all = ceiling_for(a, n);

	if (!add_below(&b->tally.by_use[use], n, atomic_load(&b->ceilings[use])))
		return false;
	if (add_below(&a->firm, n, account_ceiling(b))) {
		if (add_below(&b->tally.used, n, all)) {
			atomic_fetch_add(&a->tally.by_use[use], n);
			raise(&a->tally.peak, atomic_fetch_add(&a->tally.used, n) + n);
			raise(&b->tally.peak, atomic_load(&b->tally.used));
			return true;
		}
		atomic_fetch_sub(&a->firm, n);
	}
	atomic_fetch_sub(&b->tally.by_use[use], n);
	return false;
}

static enum err refuse(struct memory_account *a, size_t n, struct fault *fault)
{
	struct memory_budget *b = a->budget;

	atomic_fetch_add(&a->tally.refused, 1);
	atomic_fetch_add(&b->tally.refused, 1);
	if (n > account_ceiling(b))
		return fault_set(fault, ERR_TOO_LARGE,
				 "this needs %zu bytes of memory; the limit of a tenant is %zu of "
				 "the server's budget of %zu",
				 n, account_ceiling(b), b->limit);
	return fault_set(fault, ERR_BUSY,
			 "the server's memory budget of %zu bytes is used up (%zu by this tenant); "
			 "try again in a second",
			 b->limit, atomic_load(&a->tally.used));
}

enum err memory_charge(struct memory_account *a, enum memory_use use, size_t n, struct fault *fault)
{
	return try_charge(a, use, n) ? ERR_OK : refuse(a, n, fault);
}

enum err memory_charge_wait(struct memory_account *a, enum memory_use use, size_t n,
			    int64_t deadline_ns, const atomic_bool *stop, struct fault *fault)
{
	struct memory_budget *b = a->budget;
	bool fits = try_charge(a, use, n), over = n > account_ceiling(b);

	if (fits || over)
		return fits ? ERR_OK : refuse(a, n, fault);
	atomic_fetch_add(&b->waited, 1);
	mutex_lock(&b->wait_lock);
	atomic_fetch_add(&b->waiting, 1);
	while (!(fits = try_charge(a, use, n)) && !over) {
		int64_t step = clock_monotonic_ns() + WAIT_STEP_NS;

		cond_wait_until(&b->freed, &b->wait_lock, step < deadline_ns ? step : deadline_ns);
		over = clock_monotonic_ns() >= deadline_ns || (stop && atomic_load(stop));
	}
	atomic_fetch_sub(&b->waiting, 1);
	mutex_unlock(&b->wait_lock);
	return fits ? ERR_OK : refuse(a, n, fault);
}

void memory_take(struct memory_account *a, enum memory_use use, size_t n)
{
	struct memory_budget *b = a->budget;

	atomic_fetch_add(&b->tally.by_use[use], n);
	atomic_fetch_add(&a->tally.by_use[use], n);
	if (use != MEMORY_CACHED)
		atomic_fetch_add(&a->firm, n);
	raise(&a->tally.peak, atomic_fetch_add(&a->tally.used, n) + n);
	raise(&b->tally.peak, atomic_fetch_add(&b->tally.used, n) + n);
}

static void wake(struct memory_budget *b)
{
	if (!atomic_load(&b->waiting))
		return;
	mutex_lock(&b->wait_lock);
	cond_broadcast(&b->freed);
	mutex_unlock(&b->wait_lock);
}

void memory_give_back(struct memory_account *a, enum memory_use use, size_t n)
{
	struct memory_budget *b = a->budget;

	atomic_fetch_sub(&a->tally.by_use[use], n);
	if (use != MEMORY_CACHED)
		atomic_fetch_sub(&a->firm, n);
	atomic_fetch_sub(&a->tally.used, n);
	atomic_fetch_sub(&b->tally.by_use[use], n);
	atomic_fetch_sub(&b->tally.used, n);
	wake(b);
}

static void hold_change(struct memory_hold *h, size_t n)
{
	if (n > h->n)
		memory_take(h->account, h->use, n - h->n);
	else if (n < h->n)
		memory_give_back(h->account, h->use, h->n - n);
	h->n = n;
}

static void hold_begin(struct memory_hold *h, struct memory_account *account, enum memory_use use)
{
	if (h->account)
		return;
	h->account = memory_account_keep(account);
	h->use = use;
}

void memory_hold_set(struct memory_hold *h, struct memory_account *account, enum memory_use use,
		     size_t n)
{
	hold_begin(h, account, use);
	if (h->account)
		hold_change(h, n);
}

enum err memory_hold_grow(struct memory_hold *h, struct memory_account *account,
			  enum memory_use use, size_t n, struct fault *fault)
{
	hold_begin(h, account, use);
	if (!h->account)
		return ERR_OK;
	if (n > h->n) {
		TRY(memory_charge(h->account, h->use, n - h->n, fault));
		h->n = n;
	}
	hold_change(h, n);
	return ERR_OK;
}

void memory_hold_release(struct memory_hold *h)
{
	if (!h->account)
		return;
	hold_change(h, 0);
	memory_account_put(h->account);
	*h = (struct memory_hold){0};
}

/* ------------------------------------------------------------------ caches and the rest */

enum err memory_budget_add_cache(struct memory_budget *b, memory_shrink *shrink, void *context)
{
	if (b->cache_count == CACHES_MAX)
		return ERR_TOO_LARGE;
	b->caches[b->cache_count++] = (struct cache){shrink, context};
	return ERR_OK;
}

static size_t excess_of(struct memory_account *a)
{
	size_t over = less(atomic_load(&a->tally.used), three_quarters(account_ceiling(a->budget)));
	size_t cached = atomic_load(&a->tally.by_use[MEMORY_CACHED]);

	return over < cached ? over : cached;
}

/* The account with the largest excess that has cached memory, with a reference; or NULL. */
static struct memory_account *find_excess(struct memory_budget *b)
{
	struct memory_account *worst = NULL;

	mutex_lock(&b->lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct memory_account *a = b->buckets[i]; a; a = a->next)
			if (a->references && excess_of(a) > (worst ? excess_of(worst) : 0))
				worst = a;
	if (worst)
		worst->references++;
	mutex_unlock(&b->lock);
	return worst;
}

/* Shrinks the caches of the account with the largest excess. */
static size_t shrink_account(struct memory_budget *b)
{
	struct memory_account *a = find_excess(b);
	size_t freed = 0;

	for (size_t i = 0; a && i < b->cache_count && excess_of(a); i++)
		freed += b->caches[i].shrink(b->caches[i].context, str_of(a->name), excess_of(a));
	memory_account_put(a);
	return freed;
}

bool memory_budget_shrink(struct memory_budget *b)
{
	size_t most = three_quarters(b->limit), freed = b->cache_count ? shrink_account(b) : 0;

	for (size_t i = 0; i < b->cache_count; i++) {
		size_t used = atomic_load(&b->tally.used) + atomic_load(&b->measured);

		if (used <= most)
			break;
		freed += b->caches[i].shrink(b->caches[i].context, (struct str){0}, used - most);
	}
	atomic_fetch_add(&b->shrunk, freed);
	if (freed)
		wake(b);
	return freed > 0;
}

void memory_budget_measured(struct memory_budget *b, size_t resident)
{
	size_t before = atomic_exchange(&b->measured, less(resident, atomic_load(&b->tally.used)));

	if (atomic_load(&b->measured) < before)
		wake(b);
}

/* ------------------------------------------------------------------ looking */

static struct memory_figures figures(struct tally *t)
{
	struct memory_figures f = {.used = atomic_load(&t->used),
				   .peak = atomic_load(&t->peak),
				   .refused = atomic_load(&t->refused)};

	for (int i = 0; i < MEMORY_USES_; i++)
		f.by_use[i] = atomic_load(&t->by_use[i]);
	return f;
}

struct memory_budget_figures memory_budget_look(struct memory_budget *b)
{
	return (struct memory_budget_figures){.limit = b->limit,
					      .measured = atomic_load(&b->measured),
					      .waited = atomic_load(&b->waited),
					      .shrunk = atomic_load(&b->shrunk),
					      .all = figures(&b->tally)};
}

struct memory_figures memory_account_look(struct memory_account *a)
{
	return figures(&a->tally);
}

void memory_budget_each(struct memory_budget *b,
			void (*each)(void *context, struct str name, struct memory_figures figures),
			void *context)
{
	mutex_lock(&b->lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct memory_account *a = b->buckets[i]; a; a = a->next)
			each(context, str_of(a->name), figures(&a->tally));
	mutex_unlock(&b->lock);
}
