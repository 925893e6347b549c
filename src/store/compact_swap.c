/* Blocks in place of the chunks that went into them: one transaction for some services. */
#include <stdlib.h>

#include "store/upkeep.h"

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
	const int64_t columns[4] = {(int64_t)info->profiles, (int64_t)info->rows, info->first_ns,
				    info->last_ns};
	enum err error = ERR_EXISTS;
	uint64_t seal = 0;

	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		int64_t key = row_key(info->window_ns, c->day->sequence++),
			id = atomic_load(&ds->id);
		sqlite3_stmt *q;

		seal = seal_block(atomic_load(&c->day->key), key, id, columns, bytes);
		TRY(db_query_with(c->writer, BLOCK_ADD, &q, fault, key, id, columns[0], columns[1],
				  columns[2], columns[3], (int64_t)seal));
		db_bind(q, 8, bytes);
		error = db_run(c->writer, q, fault);
	}
	TRY(error);
	return change_added_of(c, ds, TALLY_BLOCKS, seal);
}

enum err rollups_forget(struct change *c, struct day_service *ds, int64_t window_ns,
			struct fault *fault)
{
	int64_t day_ns = c->day->name.day * NS_PER_DAY;

	TRY(change_take_with(c, ds, TALLY_ROLLUPS, ROLLUP_DELETE, fault, atomic_load(&ds->id),
			     ROLLUP_HOUR, (window_ns - window_ns % NS_PER_HOUR) / 1000000));
	return change_take_with(c, ds, TALLY_ROLLUPS, ROLLUP_DELETE, fault, atomic_load(&ds->id),
				ROLLUP_DAY, day_ns / 1000000);
}

static enum err delete_rows(struct change *c, struct day_service *ds, int tally,
			    enum day_statement which, struct row_keys *keys, struct fault *fault)
{
	/* In the order of the file: a page is changed by one after the other, and then left. */
	if (keys->v.n)
		qsort(keys->v.v, keys->v.n, sizeof(*keys->v.v), compare_row_keys);
	for (size_t i = 0; i < keys->v.n; i++)
		TRY(change_take_with(c, ds, tally, which, fault, keys->v.v[i]));
	return ERR_OK;
}

static enum err write_blocks(struct change *c, const struct swap *s, struct fault *fault)
{
	CLEANUP(row_keys_release) struct row_keys taken = {0};

	vec_for_each (b, &s->v) {
		TRY(block_insert(c, b->service, &b->info, buf_view(&b->bytes), fault));
		TRY(rollups_forget(c, b->service, b->info.window_ns, fault));
		TRY(vec_append(&taken.v, b->taken.v.v, b->taken.v.n));
		TRY(delete_rows(c, b->service, TALLY_BLOCKS, BLOCK_DELETE, &b->replaced, fault));
	}
	return delete_rows(c, NULL, TALLY_CHUNKS, CHUNK_DELETE, &taken, fault);
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
