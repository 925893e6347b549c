/*
 * Enforces disk limits by deleting the oldest data: of tenants above their own limit, and, if all
 * together exceed the total limit, of tenants above their fair share (fair_share.h). Deletes whole
 * days if possible, of the last day windows.
 */
#include "store/upkeep.h"
#include "store/fair_share.h"

/* Below the limit by this much, so that the next byte is not over it again. */
#define ROOM_PERCENT 5
/* Uploads are refused above 5/4 of the limit plus this. */
#define EXCESS_BYTES ((uint64_t)4 << 20)

/* ------------------------------------------------------------------ a tenant */

struct tenant_use {
	struct tenant *tenant;
	uint64_t bytes;
};

struct tenant_uses {
	VEC(struct tenant_use) v;
};

static bool is_there(const struct day *d, const struct tenant *t)
{
	return d->tenant == t && !d->gone && atomic_load(&d->exists);
}

/* `ret_only`: all that the tenant has is of that day. */
static struct day *oldest_day(const struct day_list *days, const struct tenant *t, bool *ret_only)
{
	struct day *oldest = NULL;
	int64_t newest = INT64_MIN;

	vec_for_each (d, &days->v) {
		if (!is_there(*d, t))
			continue;
		newest = (*d)->name.day > newest ? (*d)->name.day : newest;
		if (!oldest || (*d)->name.day < oldest->name.day)
			oldest = *d;
	}
	*ret_only = oldest && oldest->name.day == newest;
	return oldest;
}

/* Of each file of the last day its share. */
static enum err cut_last_day(const struct day_list *days, const struct tenant_use *use,
			     uint64_t excess, enum store_deleted_why why, struct fault *fault)
{
	enum err error = ERR_OK;

	vec_for_each (d, &days->v)
		if (error == ERR_OK && is_there(*d, use->tenant))
			error = day_cut(
				*d,
				(uint64_t)((double)excess * ((double)db_disk_bytes((*d)->path) /
							     (double)(use->bytes + 1))),
				why, fault);
	return error;
}

/* The oldest data of the tenant goes until it has `most` bytes. */
static enum err reduce(const struct day_list *days, struct tenant_use *use, uint64_t most,
		       enum store_deleted_why why, struct fault *fault)
{
	while (use->bytes > most) {
		bool only;
		struct day *d = oldest_day(days, use->tenant, &only);
		uint64_t size;

		if (!d)
			break;
		if (only)
			return cut_last_day(days, use, use->bytes - most, why, fault);
		size = db_disk_bytes(d->path);
		TRY(day_delete(d, why, fault));
		use->bytes -= size < use->bytes ? size : use->bytes;
	}
	return ERR_OK;
}

static uint64_t with_room(uint64_t most)
{
	return most - most / 100 * ROOM_PERCENT;
}

/* ------------------------------------------------------------------ all of them */

static uint64_t own_limit(const struct embedded *e, struct str tenant)
{
	const struct store_options *o = &e->base.options;

	for (size_t i = 0; i < o->tenant_size_count; i++)
		if (str_eq(o->tenant_sizes[i].tenant, tenant))
			return o->tenant_sizes[i].max_size;
	return o->tenant_max_size;
}

/* Days come tenant by tenant. */
static enum err add_use(struct tenant_uses *uses, struct day *d)
{
	struct tenant_use *last = uses->v.n ? &uses->v.v[uses->v.n - 1] : NULL;
	struct tenant_use fresh = {d->tenant, 0};

	if (!last || last->tenant != d->tenant) {
		TRY(vec_push(&uses->v, fresh));
		last = &uses->v.v[uses->v.n - 1];
	}
	if (!d->gone)
		last->bytes += db_disk_bytes(d->path);
	return ERR_OK;
}

static enum err measure(const struct day_list *days, struct tenant_uses *ret)
{
	ret->v.n = 0;
	vec_for_each (d, &days->v)
		TRY(add_use(ret, *d));
	return ERR_OK;
}

static uint64_t total_of(const struct tenant_uses *uses)
{
	uint64_t total = 0;

	vec_for_each (use, &uses->v)
		total += use->bytes;
	return total;
}

/* Stores the measured usage and restarts the count of written bytes. */
static void note_use(const struct tenant_uses *uses)
{
	vec_for_each (use, &uses->v) {
		atomic_store(&use->tenant->grown, 0);
		atomic_store(&use->tenant->disk, use->bytes);
		atomic_store(&use->tenant->hurried, false);
	}
}

static bool is_over(const struct embedded *e, const struct tenant_uses *uses)
{
	uint64_t most = e->base.options.max_size;

	vec_for_each (use, &uses->v) {
		uint64_t own = own_limit(e, str_of(use->tenant->name));

		if (own && use->bytes > own)
			return true;
	}
	return most && total_of(uses) > most;
}

/* Logs of SQLite are no data; what they take is given back first. On a full disk they stay. */
static void empty_logs(const struct day_list *days)
{
	vec_for_each (d, &days->v) {
		mutex_lock(&(*d)->write);
		if ((*d)->writer)
			(void)!db_checkpoint((*d)->writer, NULL);
		mutex_unlock(&(*d)->write);
	}
}

/* The share of everybody, when all together have too much; UINT64_MAX when not. */
static enum err find_share(const struct tenant_uses *uses, uint64_t most, uint64_t *ret)
{
	uint64_t *bytes;

	*ret = UINT64_MAX;
	if (!most || total_of(uses) <= most)
		return ERR_OK;
	bytes = mem_zalloc(uses->v.n, sizeof(*bytes));
	if (!bytes)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < uses->v.n; i++)
		bytes[i] = uses->v.v[i].bytes;
	*ret = fair_share(bytes, uses->v.n, with_room(most));
	mem_free(bytes);
	return ERR_OK;
}

static void keep_first(enum err *error, enum err one)
{
	if (*error == ERR_OK)
		*error = one;
}

static enum err reduce_all(struct embedded *e, const struct day_list *days,
			   struct tenant_uses *uses, struct fault *fault)
{
	uint64_t share = UINT64_MAX, all = e->base.options.max_size;
	enum err error = ERR_OK;

	/* One tenant's trouble is not the others'. */
	for (size_t i = 0; i < uses->v.n; i++) {
		struct tenant_use *use = &uses->v.v[i];
		uint64_t most = own_limit(e, str_of(use->tenant->name));

		atomic_store(&use->tenant->limit, all && (!most || all < most) ? all : most);
		if (most && use->bytes > most)
			keep_first(&error, reduce(days, use, with_room(most), STORE_DELETED_QUOTA,
						  error == ERR_OK ? fault : NULL));
	}
	keep_first(&error, find_share(uses, all, &share));
	for (size_t i = 0; share != UINT64_MAX && i < uses->v.n; i++) {
		struct tenant_use *use = &uses->v.v[i];
		uint64_t own = atomic_load(&use->tenant->limit);

		if (!own || share < own)
			atomic_store(&use->tenant->limit, share);
		if (use->bytes > share)
			keep_first(&error, reduce(days, use, share, STORE_DELETED_SIZE,
						  error == ERR_OK ? fault : NULL));
	}
	return error;
}

enum err quota_run(struct embedded *e, const struct day_list *days, struct fault *fault)
{
	struct tenant_uses uses = {0};
	enum err error = measure(days, &uses);
	bool over = error == ERR_OK && is_over(e, &uses);

	if (over) {
		empty_logs(days);
		error = measure(days, &uses);
	}
	if (error == ERR_OK)
		error = reduce_all(e, days, &uses, fault);
	if (over && measure(days, &uses) != ERR_OK)
		uses.v.n = 0;
	note_use(&uses);
	vec_release(&uses.v);
	return error;
}

/* ------------------------------------------------------------------ what comes too fast */

void quota_begin(struct tenant *t)
{
	uint64_t own = own_limit(t->engine, str_of(t->name)),
		 all = t->engine->base.options.max_size;

	atomic_store(&t->limit, all && (!own || all < own) ? all : own);
}

static uint64_t use_of(struct tenant *t)
{
	return atomic_load(&t->disk) + atomic_load(&t->grown);
}

static void hurry_once(struct tenant *t)
{
	if (!atomic_exchange(&t->hurried, true))
		keeper_hurry(t->engine);
}

void quota_grew(struct tenant *t, size_t bytes)
{
	uint64_t limit = atomic_load(&t->limit);

	atomic_fetch_add(&t->grown, bytes);
	if (limit && use_of(t) > limit)
		hurry_once(t);
}

/*
 * The newest ten minutes are never deleted, so uploads that come faster than old data can be
 * deleted must be refused. One batch every ten minutes is still accepted, since newer data allows
 * the older to be deleted.
 */
enum err quota_admits(struct tenant *t, struct fault *fault)
{
	uint64_t limit = atomic_load(&t->limit), use = use_of(t);
	int64_t window = store_now(&t->engine->base) / WINDOW_NS;

	if (!limit || use <= limit || use - limit <= limit / 4 + EXCESS_BYTES ||
	    atomic_exchange(&t->last_window, window) != window)
		return ERR_OK;
	hurry_once(t);
	return fault_set(fault, ERR_BUSY,
			 "this tenant has %llu bytes on disk, above its limit of %llu, and data of "
			 "the last ten minutes is not deleted to make room: try again later, send "
			 "less, or raise --tenant-max-size or --max-size",
			 (unsigned long long)use, (unsigned long long)limit);
}
