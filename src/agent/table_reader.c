#include "agent/table_reader.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "base/vec.h"

/* Larger files are left alone: nothing is known that has as much code. */
#define FILE_MAX_BYTES ((u64)8 << 30)

struct job {
	u32 module;
	int fd;
	struct str image;
};

struct table_reader {
	struct thread thread;
	struct mutex lock;
	struct cond changed;
	bool stop;
	VEC(struct job) jobs;
	size_t next_job;
	VEC(struct table_result) results;
	/* The thread's own. */
	struct unwind_rules *rules;
	struct unwind_rule *shared;
	size_t shared_count;
};

static void build(struct table_reader *r, struct str image, struct table_result *ret)
{
	const struct unwind_rule *all;
	size_t count;

	ret->error = unwind_image_read(image, &ret->image, NULL);
	if (!ret->error)
		ret->error = unwind_table_build(image, r->rules, &ret->table, NULL);
	all = unwind_rules_all(r->rules, &count);
	memcpy(r->shared + r->shared_count, all + r->shared_count,
	       (count - r->shared_count) * sizeof(*all));
	r->shared_count = count;
}

static void build_file(struct table_reader *r, int fd, struct table_result *ret)
{
	struct stat info;
	void *bytes;

	ret->error = ERR_IO;
	if (fstat(fd, &info) || info.st_size <= 0 || (u64)info.st_size > FILE_MAX_BYTES)
		return;
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return;
	build(r, str_n(bytes, (size_t)info.st_size), ret);
	munmap(bytes, (size_t)info.st_size);
}

static void run(void *context)
{
	struct sched_param lowest = {0};
	struct table_reader *r = context;

	/* Only when nobody else wants the processor; refused in some containers, which is no loss.
	 */
	sched_setscheduler(0, SCHED_BATCH, &lowest);
	mutex_lock(&r->lock);
	while (!r->stop) {
		struct table_result result = {0};
		struct job job;

		if (r->next_job == r->jobs.n) {
			r->next_job = r->jobs.n = 0;
			cond_wait(&r->changed, &r->lock);
			continue;
		}
		job = r->jobs.v[r->next_job++];
		mutex_unlock(&r->lock);
		result.module = job.module;
		if (job.image.n)
			build(r, job.image, &result);
		else
			build_file(r, job.fd, &result);
		mutex_lock(&r->lock);
		if (vec_push(&r->results, result) != ERR_OK)
			unwind_table_release(&result.table);
	}
	mutex_unlock(&r->lock);
}

enum err table_reader_new(struct unwind_rule *rules, struct table_reader **ret)
{
	struct table_reader *r = mem_zalloc(1, sizeof(*r));
	enum err e;

	if (!r)
		return ERR_NO_MEMORY;
	mutex_init(&r->lock);
	cond_init(&r->changed);
	r->shared = rules;
	e = unwind_rules_new(&r->rules);
	if (!e)
		e = thread_start(&r->thread, "vestal-tables", run, r);
	if (e) {
		table_reader_free(r);
		return e;
	}
	*ret = r;
	return ERR_OK;
}

void table_reader_free(struct table_reader *r)
{
	if (!r)
		return;
	mutex_lock(&r->lock);
	r->stop = true;
	cond_broadcast(&r->changed);
	mutex_unlock(&r->lock);
	thread_join(&r->thread);
	vec_for_each (result, &r->results)
		unwind_table_release(&result->table);
	vec_release(&r->results);
	vec_release(&r->jobs);
	unwind_rules_free(r->rules);
	cond_release(&r->changed);
	mutex_release(&r->lock);
	mem_free(r);
}

enum err table_reader_queue(struct table_reader *r, u32 module, int fd, struct str image)
{
	enum err e;

	mutex_lock(&r->lock);
	e = vec_push(&r->jobs, ((struct job){module, fd, image}));
	cond_signal(&r->changed);
	mutex_unlock(&r->lock);
	return e;
}

bool table_reader_take(struct table_reader *r, struct table_result *ret)
{
	bool any;

	mutex_lock(&r->lock);
	any = r->results.n > 0;
	if (any) {
		*ret = r->results.v[0];
		memmove(r->results.v, r->results.v + 1, --r->results.n * sizeof(*ret));
	}
	mutex_unlock(&r->lock);
	return any;
}
