#include "store/embedded_index.h"

/* Above this number of unread updates, the index is dropped and read from the file again. */
#define NEWS_MAX   250000
#define LOAD_TRIES 3

static void news_release(struct day_index *x)
{
	vec_for_each (news, &x->news)
		mem_free((char *)news->delta.p);
	vec_release(&x->news);
}

void index_free(struct day_index *x)
{
	if (!x)
		return;
	news_release(x);
	series_index_release(&x->table);
	totals_release(x);
	vec_release(&x->unwritten);
	vec_release(&x->damaged);
	mutex_release(&x->lock);
	mem_free(x);
}

bool index_detach(struct day_index *x)
{
	if (x->stale)
		return false;
	x->stale = true;
	x->day->index = NULL;
	resident_take(&x->unused);
	tenant_charge(x->day->tenant, &x->memory, 0);
	return !x->users;
}

void index_forget(struct day *d)
{
	struct day_index *x;
	bool last;

	engine_lock(d->engine);
	x = d->index;
	last = x && index_detach(x);
	engine_unlock(d->engine);
	if (last)
		index_free(x);
}

/* Takes the next update, in order; requires the index's lock. */
static bool take_news(struct day_index *x, struct index_news *ret, size_t *at)
{
	struct embedded *e = x->day->engine;
	bool any;

	engine_lock(e);
	any = *at < x->news.n;
	if (any)
		*ret = x->news.v[(*at)++];
	else
		x->news.n = *at = 0;
	engine_unlock(e);
	return any;
}

static enum err apply(struct day_index *x, const struct index_news *news)
{
	if (news->delta.p)
		return series_delta_apply(&x->table, news->service, news->delta);
	series_index_widen(&x->table, news->service, news->series, news->first_ns, news->last_ns);
	return ERR_OK;
}

/* New series get the times of their profiles, which are added afterwards. */
static void begin_times(struct day_index *x, const struct index_news *news, size_t known)
{
	struct index_service *s = series_index_service(&x->table, news->service);

	for (size_t i = known; s && i < s->series.n; i++) {
		x->table.series.v[s->series.v[i]].first_ns = 0;
		x->table.series.v[s->series.v[i]].last_ns = 0;
	}
}

static size_t known_series(const struct day_index *x, uint32_t id)
{
	const struct index_service *s = series_index_service(&x->table, id);

	return s ? s->series.n : 0;
}

static enum err read_news(struct day_index *x)
{
	struct index_news news;
	size_t at = 0;
	enum err error = ERR_OK;

	while (take_news(x, &news, &at)) {
		size_t known = known_series(x, news.service);

		if (error == ERR_OK)
			error = apply(x, &news);
		if (error == ERR_OK && news.delta.p)
			begin_times(x, &news, known);
		mem_free((char *)news.delta.p);
	}
	return error;
}

/* ------------------------------------------------------------------ use */

static enum err new_index(struct day *d, struct day_index **ret)
{
	struct day_index *x = mem_zalloc(1, sizeof(*x));

	if (!x)
		return ERR_NO_MEMORY;
	mutex_init(&x->lock);
	x->unused.is_index = true;
	x->day = d;
	*ret = x;
	return ERR_OK;
}

/* Requires engine->lock. */
static void use(struct day_index *x)
{
	x->users++;
	resident_take(&x->unused);
}

/* References the day's index, which is created if missing. */
static enum err find(struct day *d, struct day_index **ret)
{
	enum err error = ERR_OK;

	engine_lock(d->engine);
	if (!d->index)
		error = new_index(d, &d->index);
	if (error == ERR_OK) {
		use(d->index);
		*ret = d->index;
	}
	engine_unlock(d->engine);
	return error;
}

/* Requires the index's lock. */
static enum err bring_up_to_date(struct day_index *x, struct fault *fault)
{
	enum err error = x->trouble ? ERR_NO_MEMORY : ERR_OK;

	if (error == ERR_OK && !x->loaded)
		error = index_load(x, fault);
	if (error == ERR_OK)
		error = read_news(x);
	if (error != ERR_OK)
		x->trouble = true;
	return error;
}

enum err index_get(struct day *d, struct day_index **ret, struct fault *fault)
{
	struct day_index *x;
	enum err error = ERR_OK;

	for (int i = 0; i < LOAD_TRIES; i++) {
		TRY(find(d, &x));
		mutex_lock(&x->lock);
		error = bring_up_to_date(x, fault);
		if (error == ERR_OK) {
			*ret = x;
			return ERR_OK;
		}
		index_put(x);
		/* Updates that arrived meanwhile did not match the rows that were read. */
		if (error != ERR_CORRUPT)
			break;
	}
	return error;
}

/* Releases a reference; `memory` is its current size, 0 = unknown. */
static void leave(struct day_index *x, size_t memory, bool trouble)
{
	struct embedded *e = x->day->engine;
	bool last, over;

	engine_lock(e);
	x->users--;
	if (trouble)
		(void)index_detach(x);
	last = x->stale && !x->users;
	if (!x->stale && memory)
		tenant_charge(x->day->tenant, &x->memory,
			      memory + x->news.cap * sizeof(*x->news.v));
	if (!x->stale && !x->users)
		resident_rest(x->day->tenant, &x->unused);
	over = atomic_load(&e->memory) > e->memory_ceiling;
	engine_unlock(e);
	if (last)
		index_free(x);
	if (over)
		partitions_evict(e);
}

void index_put(struct day_index *x)
{
	size_t memory = series_index_memory(&x->table) + totals_memory(x);
	bool trouble = x->trouble;

	mutex_unlock(&x->lock);
	leave(x, memory, trouble);
}

/* ------------------------------------------------------------------ writing */

static void drop_news(struct change *c)
{
	vec_for_each (news, &c->news)
		mem_free((char *)news->delta.p);
	vec_release(&c->news);
}

/* References the day's index, if it has one. */
static struct day_index *join(struct day *d)
{
	struct day_index *x;

	engine_lock(d->engine);
	x = d->index;
	if (x)
		use(x);
	engine_unlock(d->engine);
	return x;
}

static enum err tell(struct day_index *x, struct index_news *news)
{
	struct embedded *e = x->day->engine;
	enum err error;

	engine_lock(e);
	error = x->news.n < NEWS_MAX ? vec_push(&x->news, *news) : ERR_TOO_LARGE;
	engine_unlock(e);
	if (error == ERR_OK)
		news->delta = (struct str){0};
	return error;
}

static enum err tell_all(struct day_index *x, struct change *c)
{
	vec_for_each (news, &c->news)
		TRY(tell(x, news));
	vec_for_each (chunk, &c->inserted.v) {
		struct index_news news = {
			.service = chunk->service->new_id,
			.series = chunk->series,
			.first_ns = chunk->first_ns,
			.last_ns = chunk->last_ns,
		};

		TRY(tell(x, &news));
	}
	return ERR_OK;
}

/* The commit thread does not wait for queries: the next one with the lock applies the updates. */
void index_publish(struct change *c, bool committed)
{
	struct day_index *x = committed && (c->news.n || c->inserted.v.n) ? join(c->day) : NULL;

	if (x && tell_all(x, c) != ERR_OK)
		index_forget(c->day);
	drop_news(c);
	if (!x)
		return;
	if (!mutex_try(&x->lock)) {
		leave(x, 0, false);
		return;
	}
	if (x->loaded && !x->trouble && read_news(x) != ERR_OK)
		x->trouble = true;
	index_put(x);
}
