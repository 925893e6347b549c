/*
 * `scrape_configs:` of the server's file: whose debug/pprof addresses are asked, how often, and for
 * what. docs/config.md has every key.
 */
#pragma once

#include "config/config.h"

/* Names are the first part of the types of what comes. */
enum scrape_kind {
	SCRAPE_PROCESS_CPU,
	SCRAPE_MEMORY,
	SCRAPE_GOROUTINE,
	SCRAPE_BLOCK,
	SCRAPE_MUTEX,
	SCRAPE_FGPROF,
	SCRAPE_KINDS
};

struct scrape_profile {
	bool enabled;
	bool delta; /* it counts since the start of the program: keep what was added */
	const char *path;
	int64_t window_ns; /* asked for as seconds=N; 0 = not asked for */
};

struct scrape_job {
	const char *name;
	const char *tenant;
	int64_t interval_ns, timeout_ns;
	const char *scheme, *path_prefix;
	struct config_list targets; /* host:port */
	struct config_map labels;
	struct scrape_profile profiles[SCRAPE_KINDS];
	/* One of the two ways to say who asks, or none. What a file says is read every time. */
	const char *bearer_token, *bearer_token_file;
	const char *username, *password, *password_file;
	const char *ca_file;
	bool insecure;
};

#define SCRAPE_MAX_TASKS 20000

extern const struct config_table scrape_job_table;

const char *scrape_kind_name(enum scrape_kind kind);
/* What the table cannot say: names that are unique, targets that are host:port … Also fills in
 * what depends on other keys. `file` is for faults. */
enum err scrape_jobs_check(struct scrape_job *jobs, size_t n, const char *file,
			   struct fault *fault) MUST_CHECK;
