/*
 * Private to the scraper: one URL that is scraped periodically.
 */
#pragma once

#include "base/arena.h"
#include "base/thread.h"
#include "net/net.h"
#include "pipeline/pipeline.h"
#include "server/scraper.h"

enum scrape_state { SCRAPE_UNKNOWN, SCRAPE_UP, SCRAPE_DOWN };

/* Status for other threads, under the scraper's lock. */
struct scrape_seen {
	enum scrape_state state;
	uint64_t scrapes, failures, resets;
	int64_t last_ns, took_ns; /* wall clock; duration */
	char reason[160];	  /* of the last failure */
};

struct scrape_task {
	struct scraper *scraper;
	const struct scrape_job *job;
	const char *target;
	enum scrape_kind kind;
	struct label_pair *labels;
	size_t label_count;
	bool running;
	int64_t due_ns, begun_ns; /* monotonic */
	/* The current request. */
	struct fetch request;
	const char *url;
	struct buf authorization, body;
	const char *headers[2];
	struct baseline before;
	int64_t before_ns; /* monotonic */
	struct scrape_seen seen;
};

struct scraper {
	struct server *server;
	struct server_settings settings;
	struct arena arena;
	struct scrape_task *tasks; /* tasks of a job are consecutive */
	size_t task_count;
	struct fetch_group *group;
	struct mutex lock;
	struct thread thread;
	_Atomic bool stopping;
	int64_t next_ns; /* earliest time at which it is due */
};

/* Prepares URL, labels and request. */
enum err scrape_task_init(struct scrape_task *t, struct arena *arena) MUST_CHECK;
void scrape_task_release(struct scrape_task *t);
/* Starts the request; the response is processed when it arrives. */
void scrape_task_begin(struct scrape_task *t);
