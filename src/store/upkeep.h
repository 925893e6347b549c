/*
 * Private to the embedded engine: upkeep. Compaction, roll-ups, retention, quotas and deletions, as
 * the keeper's thread runs them (keeper.c).
 */
#pragma once

#include "store/change.h"

/* Registers every tenant that has a directory. */
enum err tenants_find(struct embedded *e, struct fault *fault) MUST_CHECK;
enum err keeper_start(struct embedded *e) MUST_CHECK;
void keeper_stop(struct embedded *e);
/* Makes the keeper check retention now. */
void keeper_hurry(struct embedded *e);
/* The clock for compaction and roll-ups: the later of wall clock and trusted time. */
int64_t upkeep_now(const struct embedded *e);
/* One round of upkeep over everything that is due. */
enum err keeper_round(struct embedded *e, bool all, bool retain, struct fault *fault) MUST_CHECK;

/* Fills the cache of totals of services after a start (embedded_warm.c). */
void totals_warm(struct embedded *e);

enum err compact_day(struct day *d, bool all, bool *ret_changed, struct fault *fault) MUST_CHECK;
enum err rollup_day(struct day *d, bool all, struct fault *fault) MUST_CHECK;
/* Merges the dictionary's rows into one if there are at least `least_rows`. */
enum err dictionary_compact(struct day_service *ds, unsigned least_rows,
			    struct fault *fault) MUST_CHECK;
/* Columns of a block. */
struct block_info {
	int64_t window_ns, first_ns, last_ns;
	uint64_t profiles, rows;
};
struct row_keys {
	VEC(int64_t) v;
};
static inline void row_keys_release(struct row_keys *k)
{
	vec_release(&k->v);
}
int compare_row_keys(const void *a, const void *b);
/* A block that replaces chunks and other blocks. */
struct block_swap {
	struct day_service *service;
	struct block_info info;
	struct buf bytes;
	struct row_keys taken, replaced;
};
/* The block swaps of one transaction. */
struct swap {
	struct day *day;
	size_t chunks; /* number of chunks to be deleted */
	VEC(struct block_swap) v;
};
void swap_release(struct swap *s);
/* Moves bytes and keys into the swap; they are empty afterwards. */
enum err swap_add(struct swap *s, struct day_service *ds, const struct block_info *info,
		  struct buf *bytes, struct row_keys *taken, struct row_keys *replaced) MUST_CHECK;
/* Commits the swap, which is empty afterwards, also on failure. */
enum err swap_commit(struct swap *s, struct fault *fault) MUST_CHECK;
enum err block_insert(struct change *c, struct day_service *ds, const struct block_info *info,
		      struct str bytes, struct fault *fault) MUST_CHECK;
/* Deletes the roll-ups that contain a window whose blocks change. */
enum err rollups_forget(struct change *c, struct day_service *ds, int64_t window_ns,
			struct fault *fault) MUST_CHECK;
/* Replaces the rows up to the key `last` by one. */
enum err dictionary_put(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
			struct fault *fault) MUST_CHECK;
enum err day_shrink(struct day *d, struct fault *fault) MUST_CHECK;
enum err retention_run(struct embedded *e, struct fault *fault) MUST_CHECK;
/* ERR_BUSY, with a message, if the tenant is so far above its limit that deleting its oldest data
 * cannot keep up with its uploads. */
enum err quota_admits(struct tenant *t, struct fault *fault) MUST_CHECK;
/* Adds `bytes` to the tenant's usage. */
void quota_grew(struct tenant *t, size_t bytes);
/* Initial usage, before the keeper's first round. */
void quota_begin(struct tenant *t);
enum err quota_run(struct embedded *e, const struct day_list *days, struct fault *fault) MUST_CHECK;

/* Deletions (deletion.c). The number of profiles or spans of a day: */
uint64_t day_count(struct day *d);
/* Bytes of a service in its file. */
uint64_t service_bytes(struct day_service *ds);
/* Reports a deletion to the server; empty service = all services. */
void deletion_tell(struct day *d, enum store_deleted_why why, struct str service, uint64_t bytes,
		   uint64_t count);
/* Measures and reports a deletion of parts of a day: call deletion_begin before and deletion_end
 * after it. */
struct deletion_count {
	uint64_t bytes, count;
};
void deletion_begin(struct deletion_count *c, struct day *d);
void deletion_end(const struct deletion_count *c, struct day *d, enum store_deleted_why why);
/* Deletes the oldest windows, or spans, of a day, so that its file shrinks by `excess` bytes. */
enum err day_cut(struct day *d, uint64_t excess, enum store_deleted_why why,
		 struct fault *fault) MUST_CHECK;
/* Returns all free pages of the file to the file system; requires `upkeep`. */
enum err day_give_back(struct day *d, struct fault *fault) MUST_CHECK;
/* Deletes the whole day. */
enum err day_delete(struct day *d, enum store_deleted_why why, struct fault *fault) MUST_CHECK;

/* Count the profiles of a service; delete it with all its rows. `upkeep` must be held. */
enum err service_count(struct day_service *ds, uint64_t *ret, struct fault *fault) MUST_CHECK;
enum err service_drop(struct day_service *ds, uint64_t *ret_profiles,
		      struct fault *fault) MUST_CHECK;
