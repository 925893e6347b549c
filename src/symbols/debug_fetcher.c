#include "symbols/debug_fetcher.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

#define PENDING_MAX  256u
#define REFUSED_MAX  4096u
#define NOT_THERE_NS (3600 * NS_PER_S)
#define FAILED_NS    (300 * NS_PER_S)

struct fetch_wanted {
	char build_id[BUILD_ID_TEXT_MAX + 1];
	int64_t again_ns; /* of what was refused: not before */
};

struct debug_fetcher {
	struct fetcher_options options;
	struct mutex lock; /* of all that follows */
	struct cond changed;
	struct thread thread;
	bool ends;
	VEC(struct fetch_wanted) pending; /* the first is being fetched */
	VEC(struct fetch_wanted) refused;
};

static struct fetch_wanted *find(struct fetch_wanted *v, size_t n, struct str build_id)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(str_of(v[i].build_id), build_id))
			return &v[i];
	return NULL;
}

/* Recorded, so that it is not requested again too soon; ignored if out of memory. */
static void refuse(struct debug_fetcher *f, const char *build_id, enum err error)
{
	struct fetch_wanted *known = find(f->refused.v, f->refused.n, str_of(build_id));
	struct fetch_wanted fresh = {0};
	int64_t pause = error == ERR_NOT_FOUND ? NOT_THERE_NS : FAILED_NS;

	memcpy(fresh.build_id, build_id, strlen(build_id) + 1);
	fresh.again_ns = clock_monotonic_ns() + pause;
	if (known) {
		*known = fresh;
		return;
	}
	if (f->refused.n >= REFUSED_MAX)
		f->refused.n = 0;
	(void)!vec_push(&f->refused, fresh);
}

static enum err fetch_one(struct debug_fetcher *f, const char *build_id, struct fault *fault)
{
	const struct fetcher_options *o = &f->options;
	struct symbol_item item;
	char path[4096];
	enum err error;
	int fd;

	TRY(symbol_store_begin(o->store, &fd, path, sizeof(path), fault));
	error = o->get(o->context, build_id, fd, fault);
	if (error)
		unlink(path);
	else
		error = symbol_store_take(o->store, fd, path, str_of(build_id), &item, fault);
	close(fd);
	return error;
}

static void run(void *context)
{
	struct debug_fetcher *f = context;

	mutex_lock(&f->lock);
	while (!f->ends) {
		struct fetch_wanted one;
		struct fault fault = {0};
		enum err error;

		if (!f->pending.n) {
			cond_wait(&f->changed, &f->lock);
			continue;
		}
		one = f->pending.v[0];
		mutex_unlock(&f->lock);
		error = fetch_one(f, one.build_id, &fault);
		if (f->options.tell)
			f->options.tell(f->options.context, one.build_id, error, &fault);
		mutex_lock(&f->lock);
		if (error)
			refuse(f, one.build_id, error);
		f->pending.n--;
		memmove(f->pending.v, f->pending.v + 1, f->pending.n * sizeof(*f->pending.v));
		cond_broadcast(&f->changed);
	}
	mutex_unlock(&f->lock);
}

enum err debug_fetcher_new(const struct fetcher_options *o, struct debug_fetcher **ret)
{
	struct debug_fetcher *f = mem_zalloc(1, sizeof(*f));
	enum err error;

	if (!f)
		return ERR_NO_MEMORY;
	f->options = *o;
	mutex_init(&f->lock);
	cond_init(&f->changed);
	error = thread_start(&f->thread, "debuginfod", run, f);
	if (error) {
		debug_fetcher_free(f);
		return error;
	}
	*ret = f;
	return ERR_OK;
}

void debug_fetcher_free(struct debug_fetcher *f)
{
	if (!f)
		return;
	mutex_lock(&f->lock);
	f->ends = true;
	cond_broadcast(&f->changed);
	mutex_unlock(&f->lock);
	thread_join(&f->thread);
	vec_release(&f->pending);
	vec_release(&f->refused);
	cond_release(&f->changed);
	mutex_release(&f->lock);
	mem_free(f);
}

static enum fetch_state ask(struct debug_fetcher *f, struct str build_id)
{
	const struct fetch_wanted *refused = find(f->refused.v, f->refused.n, build_id);
	struct fetch_wanted fresh = {0};

	if (find(f->pending.v, f->pending.n, build_id))
		return FETCH_PENDING;
	if ((refused && refused->again_ns > clock_monotonic_ns()) || f->pending.n >= PENDING_MAX)
		return FETCH_REFUSED;
	memcpy(fresh.build_id, build_id.p, build_id.n);
	if (vec_push(&f->pending, fresh) != ERR_OK)
		return FETCH_REFUSED;
	cond_broadcast(&f->changed);
	return FETCH_PENDING;
}

enum fetch_state debug_fetcher_ask(struct debug_fetcher *f, struct str build_id)
{
	enum fetch_state state;

	if (!build_id_valid(build_id))
		return FETCH_REFUSED;
	if (symbol_store_has(f->options.store, build_id))
		return FETCH_HERE;
	mutex_lock(&f->lock);
	state = ask(f, build_id);
	mutex_unlock(&f->lock);
	return state;
}

bool debug_fetcher_wait(struct debug_fetcher *f, int64_t deadline_ns)
{
	bool done;

	mutex_lock(&f->lock);
	while (f->pending.n && cond_wait_until(&f->changed, &f->lock, deadline_ns))
		;
	done = !f->pending.n;
	mutex_unlock(&f->lock);
	return done;
}
