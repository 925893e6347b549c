#include "server/scrape_task.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/server_internal.h"

#define MAX_RUNNING	  512
#define MAX_ANSWER_BYTES  ((size_t)128 << 20)
#define SHORTEST_WAIT_NS  (20 * NS_PER_MS) /* what is due together begins together */
#define LONGEST_WAIT_NS	  (60 * NS_PER_S)
#define PAUSE_ON_FAULT_NS NS_PER_S

/* ------------------------------------------------------------------ making */

static enum err add_task(struct scraper *s, const struct scrape_job *j, const char *target,
			 enum scrape_kind kind)
{
	struct scrape_task *t = &s->tasks[s->task_count++];

	t->scraper = s;
	t->job = j;
	t->target = target;
	t->kind = kind;
	return scrape_task_init(t, &s->arena);
}

static enum err add_tasks(struct scraper *s)
{
	const struct scrape_job *jobs = s->settings.scrape.v;
	size_t most = 0;

	for (size_t i = 0; i < s->settings.scrape.n; i++)
		most += jobs[i].targets.n * SCRAPE_KINDS;
	s->tasks = mem_zalloc(most ? most : 1, sizeof(*s->tasks));
	if (!s->tasks)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->settings.scrape.n; i++)
		for (size_t t = 0; t < jobs[i].targets.n; t++)
			for (int k = 0; k < SCRAPE_KINDS; k++)
				if (jobs[i].profiles[k].enabled)
					TRY(add_task(s, &jobs[i], jobs[i].targets.v[t],
						     (enum scrape_kind)k));
	return ERR_OK;
}

enum err scraper_new(struct server *server, struct server_settings *settings, struct scraper **ret,
		     struct fault *fault)
{
	struct scraper *s = mem_zalloc(1, sizeof(*s));
	enum err e;

	if (!s)
		return ERR_NO_MEMORY;
	s->server = server;
	s->settings = *settings;
	mutex_init(&s->lock);
	arena_init(&s->arena, 0);
	e = fetch_group_new(MAX_ANSWER_BYTES, &s->group, fault);
	if (!e)
		e = add_tasks(s);
	if (e) {
		s->settings.config = NULL; /* still the caller's */
		scraper_free(s);
		return e;
	}
	settings->config = NULL;
	*ret = s;
	return ERR_OK;
}

/* ------------------------------------------------------------------ inheriting */

static uint64_t task_hash(const struct scrape_task *t)
{
	uint64_t hash = hash_str(str_of(t->url), (uint64_t)t->kind);

	return hash_str(str_of(t->job->name), hash_str(str_of(t->job->tenant), hash));
}

static bool same_task(const struct scrape_task *a, const struct scrape_task *b)
{
	return a->kind == b->kind && !strcmp(a->url, b->url) &&
	       !strcmp(a->job->name, b->job->name) && !strcmp(a->job->tenant, b->job->tenant);
}

static void take_over(struct scrape_task *t, struct scrape_task *old)
{
	baseline_release(&t->before);
	t->before = old->before;
	t->before_ns = old->before_ns;
	t->seen = old->seen;
	old->before = (struct baseline){0};
}

enum err scraper_inherit(struct scraper *s, struct scraper *old)
{
	struct map index = {0};
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < old->task_count; i++)
		e = map_put(&index, task_hash(&old->tasks[i]), (uint32_t)i);
	for (size_t i = 0; !e && i < s->task_count; i++)
		MAP_PROBE(&index, task_hash(&s->tasks[i]), id)
	if (same_task(&s->tasks[i], &old->tasks[id]))
		take_over(&s->tasks[i], &old->tasks[id]);
	map_release(&index);
	return e;
}

/* ------------------------------------------------------------------ running */

/* The first time of each, spread over its interval. */
static void plan(struct scraper *s)
{
	int64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < s->task_count; i++) {
		struct scrape_task *t = &s->tasks[i];

		t->due_ns = now + (int64_t)(task_hash(t) % (uint64_t)t->job->interval_ns);
	}
	s->next_ns = now;
}

/* Keeps its place in the interval; what was missed is missed. */
static void set_next(struct scrape_task *t, int64_t now)
{
	int64_t interval = t->job->interval_ns;

	t->due_ns += interval;
	if (t->due_ns <= now)
		t->due_ns += (now - t->due_ns) / interval * interval + interval;
}

static void begin_due(struct scraper *s, int64_t now)
{
	int64_t next = now + LONGEST_WAIT_NS;

	for (size_t i = 0; i < s->task_count; i++) {
		struct scrape_task *t = &s->tasks[i];

		/* A running one checks the time when it has finished. */
		if (t->running)
			continue;
		if (t->due_ns <= now && fetch_group_running(s->group) < MAX_RUNNING) {
			set_next(t, now);
			scrape_task_begin(t);
		}
		if (!t->running && t->due_ns < next)
			next = t->due_ns;
	}
	s->next_ns = next > now + SHORTEST_WAIT_NS ? next : now + SHORTEST_WAIT_NS;
}

static void run(void *context)
{
	struct scraper *s = context;
	struct fault fault = {0};

	while (!atomic_load(&s->stopping)) {
		int64_t now = clock_monotonic_ns();

		if (now >= s->next_ns) {
			begin_due(s, now);
			now = clock_monotonic_ns();
		}
		if (fetch_group_run(s->group, s->next_ns - now, &fault) != ERR_OK) {
			log_error("scraping pauses", log_text("reason", fault.text));
			clock_sleep_ns(PAUSE_ON_FAULT_NS);
		}
	}
}

enum err scraper_start(struct scraper *s)
{
	plan(s);
	return thread_start(&s->thread, "scraper", run, s);
}

void scraper_stop(struct scraper *s)
{
	atomic_store(&s->stopping, true);
	if (s->group)
		fetch_group_wake(s->group);
	thread_join(&s->thread);
}

void scraper_free(struct scraper *s)
{
	if (!s)
		return;
	scraper_stop(s);
	fetch_group_free(s->group);
	for (size_t i = 0; i < s->task_count; i++)
		scrape_task_release(&s->tasks[i]);
	mem_free(s->tasks);
	arena_release(&s->arena);
	settings_release(&s->settings);
	mutex_release(&s->lock);
	mem_free(s);
}
