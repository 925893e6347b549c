/* Blocks in place of the chunks that went into them: one transaction for some services. */
#include <stdlib.h>

#include "store/embedded.h"

#define KEY_TRIES 4096

int compare_row_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void block_swap_release(struct block_swap *b)
{
	buf_release(&b->bytes);
	vec_release(&b->taken.v);
	vec_release(&b->replaced.v);
}

void swap_release(struct swap *s)
{
	for (size_t i = 0; i < s->v.n; i++)
		block_swap_release(&s->v.v[i]);
	vec_release(&s->v);
	s->chunks = 0;
}

enum err swap_add(struct swap *s, struct day_service *ds, const struct block_info *info,
		  struct buf *bytes, struct row_keys *taken, struct row_keys *replaced)
{
	struct block_swap b = {ds, *info, *bytes, *taken, *replaced};

	TRY(vec_push(&s->v, b));
	*bytes = BUF_INIT(SIZE_MAX);
	*taken = *replaced = (struct row_keys){0};
	s->chunks += b.taken.v.n;
	return ERR_OK;
}

enum err block_insert(struct change *c, struct day_service *ds, const struct block_info *info,
		      struct str bytes, struct fault *fault)
{
	enum err error = ERR_EXISTS;

	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		sqlite3_stmt *q;

		TRY(db_query_with(c->writer, BLOCK_ADD, &q, fault,
				  row_key(info->window_ns, c->day->sequence++),
				  atomic_load(&ds->id), (int64_t)info->profiles,
				  (int64_t)info->rows, info->first_ns, info->last_ns));
		db_bind(q, 7, bytes);
		error = db_run(c->writer, q, fault);
	}
	return error;
}

enum err rollups_forget(struct change *c, struct day_service *ds, int64_t window_ns,
			struct fault *fault)
{
	int64_t day_ns = c->day->name.day * NS_PER_DAY;

	TRY(db_run_with(c->writer, ROLLUP_DELETE, fault, atomic_load(&ds->id), ROLLUP_HOUR,
			(window_ns - window_ns % NS_PER_HOUR) / 1000000));
	return db_run_with(c->writer, ROLLUP_DELETE, fault, atomic_load(&ds->id), ROLLUP_DAY,
			   day_ns / 1000000);
}

static enum err delete_rows(struct change *c, enum day_statement which, struct row_keys *keys,
			    struct fault *fault)
{
	/* In the order of the file: a page is changed by one after the other, and then left. */
	if (keys->v.n)
		qsort(keys->v.v, keys->v.n, sizeof(*keys->v.v), compare_row_keys);
	for (size_t i = 0; i < keys->v.n; i++)
		TRY(db_run_with(c->writer, which, fault, keys->v.v[i]));
	return ERR_OK;
}

static enum err write_blocks(struct change *c, const struct swap *s, struct fault *fault)
{
	CLEANUP(row_keys_release) struct row_keys taken = {0};
	CLEANUP(row_keys_release) struct row_keys replaced = {0};

	vec_for_each (b, &s->v) {
		TRY(block_insert(c, b->service, &b->info, buf_view(&b->bytes), fault));
		TRY(rollups_forget(c, b->service, b->info.window_ns, fault));
		TRY(vec_append(&taken.v, b->taken.v.v, b->taken.v.n));
		TRY(vec_append(&replaced.v, b->replaced.v.v, b->replaced.v.n));
	}
	TRY(delete_rows(c, CHUNK_DELETE, &taken, fault));
	return delete_rows(c, BLOCK_DELETE, &replaced, fault);
}

enum err swap_commit(struct swap *s, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, s->day, fault);

	if (error == ERR_OK) {
		error = write_blocks(&c, s, fault);
		error = change_end(&c, error, fault);
	}
	for (size_t i = 0; error == ERR_OK && i < s->v.n; i++)
		day_service_remove_fresh(s->v.v[i].service, s->v.v[i].taken.v.v,
					 s->v.v[i].taken.v.n);
	swap_release(s);
	return error;
}
