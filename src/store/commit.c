/*
 * The threads that make batches durable.
 *
 * Each takes the queued batches of one tenant, up to a size, and writes them; then the next tenant
 * is served. No two threads write for the same tenant. A tenant that floods the server, or whose
 * day is locked by the keeper, delays no other tenant as long as there are free threads. Under load
 * many batches of a tenant share a transaction and its sync: if the last commit had company, a
 * thread waits for batches that are being filled, but never longer than the last commit took.
 * Expensive work (encoding) was done before by the thread of the upload (change_delta.c).
 *
 * SQLite makes a batch within one file atomic. A batch that touches several files (midnight, late
 * data, spans next to profiles) first records its rows in the catalog; after a crash, leftover
 * records are used to delete these rows (commit_undo.c).
 */
#include <stdlib.h>

#include "base/clock.h"
#include "store/catalog.h"
#include "store/upkeep.h"

#define GROUP_MAX_BYTES (8u << 20) /* limit of a transaction if no other tenant waits */
#define TURN_BYTES	(1u << 20) /* limit if another tenant waits */
#define GROUP_MAX	512
/* Overhead per row, besides its bytes. */
#define CHUNK_COST	512
#define SPAN_COST	512
#define COMPANY_NS	(5 * NS_PER_MS) /* at most, however slow the disk is */

struct pending {
	struct store_batch *batch;
	struct tenant *tenant;
	VEC(struct day *) files; /* spans' ones with a reference, in `span_days` */
	struct day_list span_days;
	enum err error;
	struct fault fault;
};

/* Of fixed size, so that the queue moves also when there is no memory. */
struct group {
	size_t n, bytes;
	struct pending v[GROUP_MAX];
};

#define for_each_pending(p, g) for (struct pending *p = (g)->v; p < (g)->v + (g)->n; p++)

static bool has_file(const struct pending *p, const struct day *d)
{
	vec_for_each (file, &p->files)
		if (*file == d)
			return true;
	return false;
}

static enum err add_file(struct pending *p, struct day *d)
{
	return has_file(p, d) ? ERR_OK : vec_push(&p->files, d);
}

/* The order in which their locks are taken. */
static int by_name(const void *a, const void *b)
{
	const struct day *x = *(struct day *const *)a, *y = *(struct day *const *)b;

	if (x->name.day != y->name.day)
		return x->name.day < y->name.day ? -1 : 1;
	return (int)x->name.kind - (int)y->name.kind;
}

static enum err find_files(struct embedded *e, struct pending *p)
{
	struct store_batch *b = p->batch;

	TRY(tenant_get(e, b->tenant, true, &p->tenant, &p->fault));
	vec_for_each (chunk, &b->chunks)
		TRY(add_file(p, ((struct day_service *)chunk->partition->engine)->day));
	for (size_t i = 0; i < b->spans.n; i++) {
		struct day_name name = {day_of(b->spans.v[i].start_ns), DAY_SPANS};
		struct day *d;
		bool known = false;

		if (name.day < 0)
			return fault_set(&p->fault, ERR_BAD_ARGUMENT, "a span begins before 1970");
		vec_for_each (file, &p->span_days.v)
			known |= (*file)->name.day == name.day;
		if (known)
			continue;
		TRY(vec_reserve(&p->span_days.v, 1));
		TRY(day_get(p->tenant, name, true, &d, &p->fault));
		p->span_days.v.v[p->span_days.v.n++] = d;
		TRY(add_file(p, d));
		TRY(spans_fit(d, b->spans.n, &p->fault));
	}
	if (p->files.n > 1)
		qsort(p->files.v, p->files.n, sizeof(*p->files.v), by_name);
	return ERR_OK;
}

/* ------------------------------------------------------------------ rows of a batch */

/* The current partition of the service, which differs from the batch's after a delete. */
static enum err current_partition(struct day_service *ds, struct partition *of_batch,
				  struct partition **ret, struct fault *fault)
{
	struct embedded *e = ds->day->engine;
	bool same;

	engine_lock(e);
	same = ds->partition == of_batch;
	engine_unlock(e);
	if (same) {
		*ret = of_batch;
		return ERR_OK;
	}
	return service_partition(ds, ret, fault);
}

static enum err write_chunk(struct change *c, const struct store_batch *b,
			    const struct batch_chunk *chunk, struct fault *fault)
{
	struct day_service *ds = chunk->partition->engine;
	struct str bytes = str_n(b->bytes.data + chunk->at, chunk->n);
	struct encoded_chunk info = chunk->info;
	struct partition *p = NULL;
	struct buf moved = BUF_INIT(SIZE_MAX);
	enum err error;

	TRY(current_partition(ds, chunk->partition, &p, fault));
	error = p == chunk->partition
			? ERR_OK
			: chunk_move(chunk->partition, bytes, p, &moved, &info, fault);
	if (error == ERR_OK && p != chunk->partition)
		error = delta_prepare(ds->day->engine, p);
	if (error == ERR_OK)
		error = change_delta(c, ds, p, fault);
	if (error == ERR_OK)
		error = change_chunk(c, ds, &info, p == chunk->partition ? bytes : buf_view(&moved),
				     fault);
	if (p != chunk->partition)
		partition_give_back(ds->day->engine, p);
	buf_release(&moved);
	return error;
}

static enum err write_spans(struct change *c, const struct store_batch *b, struct undo_list *undo,
			    struct fault *fault)
{
	for (size_t i = 0; i < b->spans.n; i++) {
		struct undo_row row = {.file = c->day->name};

		if (day_of(b->spans.v[i].start_ns) != c->day->name.day)
			continue;
		TRY(span_write(c, &b->spans.v[i], &row, fault));
		if (undo)
			TRY(vec_push(&undo->rows, row));
	}
	return ERR_OK;
}

static enum err write_batch(struct change *c, const struct store_batch *b, struct undo_list *undo,
			    struct fault *fault)
{
	if (c->day->name.kind == DAY_SPANS)
		return write_spans(c, b, undo, fault);
	vec_for_each (chunk, &b->chunks) {
		struct day_service *ds = chunk->partition->engine;

		if (ds->day != c->day)
			continue;
		TRY(write_chunk(c, b, chunk, fault));
		if (undo) {
			const struct inserted_chunk *last = &c->inserted.v.v[c->inserted.v.n - 1];
			struct undo_row row = {.file = c->day->name,
					       .key = last->chunk.key,
					       .seal = last->seal,
					       .service = ds};

			TRY(vec_push(&undo->rows, row));
		}
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ one file, many batches */

static bool goes_to(const struct pending *p, const struct day *d)
{
	return p->error == ERR_OK && p->files.n == 1 && p->files.v[0] == d;
}

/* Batches from `first` on, at most `most`, in one transaction. */
static enum err write_file(struct pending *first, struct pending *end, size_t most, struct day *d,
			   struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	for (struct pending *p = first; error == ERR_OK && p < end && most; p++)
		if (goes_to(p, d)) {
			error = write_batch(&c, p->batch, NULL, fault);
			most--;
		}
	return change_end(&c, error, fault);
}

/* Done for, one way or the other: not found again by commit_group. */
static void settle(struct pending *p, enum err error, const struct fault *fault)
{
	p->files.n = 0;
	p->error = error;
	p->fault = *fault;
}

static void commit_file(struct group *g, struct day *d)
{
	struct pending *end = g->v + g->n;
	struct fault fault = {0};
	enum err error = write_file(g->v, end, SIZE_MAX, d, &fault);
	/* An invalid batch must not make the others fail; a disk error must. */
	bool alone = error != ERR_OK && error != ERR_NO_SPACE && error != ERR_IO;

	for_each_pending(p, g)
	{
		if (!goes_to(p, d))
			continue;
		if (alone) {
			fault.code = ERR_OK;
			error = write_file(p, end, 1, d, &fault);
		}
		settle(p, error, &fault);
	}
}

/* ------------------------------------------------------------------ one batch, many files */

static void forget_fresh(struct tenant *t, const struct undo_list *undo);

/* If the rollback fails, it is repeated before the next such batch, or when the store is opened. */
static void take_back_failed(struct tenant *t)
{
	if (t->undo_left && undo_recover(t, NULL) == ERR_OK)
		t->undo_left = false;
}

static void commit_many_files(struct pending *p)
{
	struct change *changes = mem_zalloc(p->files.n, sizeof(*changes));
	struct undo_list undo = {0};
	struct db *catalog;
	size_t open = 0, done = 0;
	int64_t note = 0;

	p->error = changes ? tenant_catalog(p->tenant, &catalog, &p->fault) : ERR_NO_MEMORY;
	/* Opened before any lock of a day is taken. */
	if (p->error == ERR_OK) {
		mutex_unlock(&p->tenant->catalog_lock);
		take_back_failed(p->tenant);
	}
	while (p->error == ERR_OK && open < p->files.n) {
		p->error = change_begin(&changes[open], p->files.v[open], &p->fault);
		if (p->error != ERR_OK)
			break;
		p->error = write_batch(&changes[open++], p->batch, &undo, &p->fault);
	}
	if (p->error == ERR_OK)
		p->error = undo_begin(p->tenant, &undo, &note, &p->fault);
	for (; done < open; done++) {
		enum err error = change_end(&changes[done], p->error, &p->fault);

		if (p->error == ERR_OK)
			p->error = error;
	}
	if (note && p->error == ERR_OK)
		p->error = undo_end(p->tenant, note, &p->fault);
	if (note && p->error != ERR_OK)
		forget_fresh(p->tenant, &undo);
	vec_release(&undo.rows);
	mem_free(changes);
}

/* Takes back what some of the files have already; the note stays until that worked. */
static void forget_fresh(struct tenant *t, const struct undo_list *undo)
{
	/* Batches hold the partitions, and these the days. */
	vec_for_each (row, &undo->rows)
		if (row->service)
			day_service_remove_fresh(row->service, &row->key, 1);
	t->undo_left = true;
	take_back_failed(t);
}

/* ------------------------------------------------------------------ groups */

/* Disk errors are not the sender's fault: it may retry. */
static void note_disk(struct embedded *e, struct pending *p)
{
	embedded_wrote(e, p->tenant, p->error);
	if (p->error == ERR_IO)
		p->error = p->fault.code = ERR_UNAVAILABLE;
}

static void commit_group(struct embedded *e, struct group *g)
{
	for_each_pending(p, g)
	{
		/* Room that was made is not for those who were already waiting. */
		p->error = disk_guard_refuses(&e->disk) ? ERR_NO_SPACE : find_files(e, p);
	}
	for (size_t i = 0; i < g->n; i++) {
		struct pending *p = &g->v[i];

		if (p->error == ERR_OK && p->files.n == 1)
			commit_file(g, p->files.v[0]);
		else if (p->error == ERR_OK && p->files.n > 1)
			commit_many_files(p);
	}
}

/* Approximate cost of a batch: its bytes, and something per row. */
static size_t cost_of(const struct store_batch *b)
{
	return b->bytes.n + b->delta_bytes + b->chunks.n * CHUNK_COST + b->spans.n * SPAN_COST;
}

/* Tells the senders, with no lock held. */
static void finish_group(struct embedded *e, struct group *g)
{
	for_each_pending(p, g)
	{
		note_disk(e, p);
		if (p->error == ERR_OK)
			quota_grew(p->tenant, cost_of(p->batch));
		atomic_fetch_sub(&e->queued, 1);
		if (p->error != ERR_OK && !p->fault.code)
			fault_set(&p->fault, p->error, "%s", err_text(p->error));
		batch_finish(p->batch, p->error, p->error == ERR_OK ? NULL : &p->fault);
		vec_release(&p->files);
		day_list_put(&p->span_days);
	}
	g->n = 0;
}

/* With queue_lock. */
static void wait_for_company(struct embedded *e, const struct tenant *t)
{
	int64_t patience = t->took_ns < COMPANY_NS ? t->took_ns : COMPANY_NS;
	int64_t until = clock_monotonic_ns() + patience;

	while (!e->stopping && atomic_load(&e->base.filling) &&
	       cond_wait_until(&e->filled, &e->queue_lock, until))
		;
}

/* Requires queue_lock. Appends the tenant to the queue. A thread that is already awake may take
 * it. */
static void line_up(struct embedded *e, struct tenant *t)
{
	t->queue_next = NULL;
	if (e->queue_last)
		e->queue_last->queue_next = t;
	else
		e->queue_first = t;
	e->queue_last = t;
}

/* Requires queue_lock. The next tenant, or NULL at shutdown. No other thread writes for it before
 * end_turn. */
static struct tenant *take_turn(struct embedded *e)
{
	struct tenant *t;

	while (!e->queue_first && !e->stopping)
		cond_wait(&e->queue_changed, &e->queue_lock);
	t = e->queue_first;
	if (!t)
		return NULL;
	e->queue_first = t->queue_next;
	if (!e->queue_first)
		e->queue_last = NULL;
	t->queue_next = NULL;
	return t;
}

/* Requires queue_lock. Takes its queued batches, at least one. */
static void fill_group(struct embedded *e, struct group *g, struct tenant *t)
{
	size_t most = e->queue_first ? TURN_BYTES : GROUP_MAX_BYTES;

	g->bytes = 0;
	while (t->queue_first && g->n < GROUP_MAX) {
		struct store_batch *b = t->queue_first;

		if (g->n && (g->bytes >= most || cost_of(b) > most - g->bytes))
			break;
		t->queue_first = b->next;
		g->v[g->n++] = (struct pending){.batch = b};
		g->bytes += cost_of(b);
	}
	if (!t->queue_first)
		t->queue_last = &t->queue_first;
}

/* Takes the batches of the next tenant, up to a size that keeps the transaction short. NULL at
 * shutdown. */
static struct tenant *take_group(struct committer *c)
{
	struct embedded *e = c->engine;
	struct tenant *t;

	mutex_lock(&e->queue_lock);
	t = take_turn(e);
	if (t && t->has_company)
		wait_for_company(e, t);
	while (t && e->commits_held)
		cond_wait(&e->commits_go_on, &e->queue_lock);
	if (t) {
		fill_group(e, c->group, t);
		t->has_company = c->group->n > 1;
		e->writing++;
	}
	mutex_unlock(&e->queue_lock);
	return t;
}

static void written(struct embedded *e)
{
	mutex_lock(&e->queue_lock);
	e->writing--;
	cond_broadcast(&e->commits_go_on);
	mutex_unlock(&e->queue_lock);
}

/* No signal is needed: this thread itself takes the next tenant, which may be this one again, or
 * one for which another thread was woken. */
static void end_turn(struct embedded *e, struct tenant *t, int64_t took_ns)
{
	mutex_lock(&e->queue_lock);
	t->took_ns = took_ns;
	t->queued = t->queue_first != NULL;
	t->has_company |= t->queued;
	if (t->queued)
		line_up(e, t);
	mutex_unlock(&e->queue_lock);
}

void commits_hold(struct embedded *e)
{
	mutex_lock(&e->queue_lock);
	while (e->commits_held)
		cond_wait(&e->commits_go_on, &e->queue_lock);
	e->commits_held = true;
	while (e->writing)
		cond_wait(&e->commits_go_on, &e->queue_lock);
	mutex_unlock(&e->queue_lock);
}

void commits_go_on(struct embedded *e)
{
	mutex_lock(&e->queue_lock);
	e->commits_held = false;
	cond_broadcast(&e->commits_go_on);
	mutex_unlock(&e->queue_lock);
}

static void run(void *context)
{
	struct committer *c = context;
	struct embedded *e = c->engine;
	struct tenant *t;

	while ((t = take_group(c))) {
		int64_t begin = clock_monotonic_ns(), took_ns;

		commit_group(e, c->group);
		written(e);
		took_ns = clock_monotonic_ns() - begin;
		finish_group(e, c->group);
		end_turn(e, t, took_ns);
	}
}

enum err committer_start(struct embedded *e)
{
	for (size_t i = 0; i < COMMITTERS; i++) {
		struct committer *c = &e->committers[i];

		c->engine = e;
		c->group = mem_zalloc(1, sizeof(*c->group));
		if (!c->group)
			return ERR_NO_MEMORY;
		TRY(thread_start(&c->thread, "store-commit", run, c));
	}
	return ERR_OK;
}

void committer_stop(struct embedded *e)
{
	mutex_lock(&e->queue_lock);
	e->stopping = true;
	cond_broadcast(&e->queue_changed);
	cond_broadcast(&e->filled);
	mutex_unlock(&e->queue_lock);
	for (size_t i = 0; i < COMMITTERS; i++) {
		thread_join(&e->committers[i].thread);
		mem_free(e->committers[i].group);
		e->committers[i].group = NULL;
	}
}

/* All that takes long and needs no file: the thread that commits writes bytes. */
static enum err prepare_batch(struct embedded *e, struct store_batch *b, struct tenant **ret,
			      struct fault *fault)
{
	TRY(tenant_get(e, b->tenant, true, ret, fault));
	for (size_t i = 0; i < b->held.n; i++) {
		TRY(delta_prepare(e, b->held.v[i]));
		b->delta_bytes += atomic_load(&b->held.v[i]->prepared_bytes);
	}
	return ERR_OK;
}

/* With queue_lock. */
static void enqueue(struct embedded *e, struct tenant *t, struct store_batch *b)
{
	if (!t->queue_first)
		t->queue_last = &t->queue_first;
	*t->queue_last = b;
	t->queue_last = &b->next;
	if (!t->queued) {
		line_up(e, t);
		cond_signal(&e->queue_changed);
	}
	t->queued = true;
}

void embedded_commit(struct store *s, struct store_batch *b)
{
	struct embedded *e = embedded_of(s);
	struct fault fault = {0};
	struct tenant *t;
	enum err error;

	if (!b->chunks.n && !b->spans.n) {
		batch_finish(b, ERR_OK, NULL);
		return;
	}
	if (disk_guard_refuses(&e->disk)) {
		fault_set(&fault, ERR_NO_SPACE,
			  "%s is %s: nothing new is stored until that is over", e->dir.path,
			  store_disk_text(atomic_load(&e->disk.state)));
		batch_finish(b, ERR_NO_SPACE, &fault);
		return;
	}
	error = prepare_batch(e, b, &t, &fault);
	if (error == ERR_OK)
		error = quota_admits(t, &fault);
	if (error != ERR_OK) {
		batch_finish(b, error, fault.text[0] ? &fault : NULL);
		return;
	}
	b->next = NULL;
	atomic_fetch_add(&e->queued, 1);
	mutex_lock(&e->queue_lock);
	batch_filled(b);
	enqueue(e, t, b);
	if (!atomic_load(&e->base.filling))
		cond_broadcast(&e->filled);
	mutex_unlock(&e->queue_lock);
}
