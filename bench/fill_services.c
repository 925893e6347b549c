/*
 * fill_services DIR SERVICES SERIES: makes a store where one tenant has so many services of so many
 * series each (pods), a profile of CPU time of each in the last minutes. For bench/server: over
 * HTTP that would take longer than what is measured.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/store.h"

#define BATCH 1000

struct waiter {
	struct mutex lock;
	struct cond changed;
	bool done;
	enum err error;
};

static void finished(void *context, enum err error, const struct fault *fault)
{
	struct waiter *w = context;

	mutex_lock(&w->lock);
	w->done = true;
	w->error = error;
	if (fault)
		fprintf(stderr, "%s\n", fault->text);
	cond_signal(&w->changed);
	mutex_unlock(&w->lock);
}

static enum err commit(struct store_batch *b)
{
	struct waiter w = {.lock = MUTEX_INIT};

	cond_init(&w.changed);
	store_batch_commit(b, finished, &w);
	mutex_lock(&w.lock);
	while (!w.done)
		cond_wait(&w.changed, &w.lock);
	mutex_unlock(&w.lock);
	return w.error;
}

/* One profile: of a service and a pod of it. */
static enum err add(struct store *s, struct store_batch *b, unsigned service, unsigned pod,
		    int64_t time_ns)
{
	static const struct str type = STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	char name[30], pod_name[40];
	struct label_pair labels[] = {{STR("pod"), {0}},
				      {STR("region"), STR("eu-central-1")},
				      {STR("service_name"), {0}}};
	struct series_profile series = {.labels = labels,
					.label_count = 3,
					.types = &type,
					.time_ns = time_ns,
					.duration_ns = 15 * NS_PER_S};
	int64_t value = 1000000 + service % 1000 * 1000 + pod;
	uint32_t frames[2];
	struct row row = {0};
	struct profile p;
	struct dict d;

	snprintf(name, sizeof(name), "service-%06u", service);
	snprintf(pod_name, sizeof(pod_name), "service-%06u-%u", service, pod);
	labels[0].value = str_of(pod_name);
	labels[2].value = str_of(name);
	TRY(dict_init(&d, store_seed(s)));
	profile_init(&p, &d);
	TRY(profile_add_type(&p, STR("cpu"), STR("nanoseconds")));
	TRY(dict_named_frame(&d, STR("work"), &frames[0]));
	TRY(dict_named_frame(&d, STR("main"), &frames[1]));
	TRY(dict_stack(&d, frames, 2, &row.stack));
	TRY(profile_add(&p, &row, &value));
	series.profile = &p;
	TRY(store_batch_add(b, &series, NULL));
	profile_release(&p);
	dict_release(&d);
	return ERR_OK;
}

static enum err fill(struct store *s, unsigned services, unsigned pods)
{
	int64_t now = clock_wall_ns();
	struct store_batch *b = NULL;
	unsigned n = 0;

	for (unsigned service = 0; service < services; service++)
		for (unsigned pod = 0; pod < pods; pod++) {
			if (!b)
				TRY(store_batch_new(s, STR("anonymous"), &b, NULL));
			TRY(add(s, b, service, pod, now - (60 + pod % 40 * 15) * NS_PER_S));
			if (++n % BATCH)
				continue;
			TRY(commit(b));
			b = NULL;
		}
	return b ? commit(b) : ERR_OK;
}

int main(int argc, char **argv)
{
	struct store_options options = store_options_default;
	struct fault fault = {0};
	struct store *s;
	enum err error;

	if (argc != 4) {
		fprintf(stderr, "fill_services DIR SERVICES SERIES\n");
		return 2;
	}
	options.directory = argv[1];
	options.limits.max_series = UINT32_MAX;
	error = store_open(&options, &s, &fault);
	if (error == ERR_OK) {
		error = fill(s, (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
		store_close(s);
	}
	if (error != ERR_OK)
		fprintf(stderr, "%s %s\n", err_text(error), fault.text);
	return error != ERR_OK;
}
