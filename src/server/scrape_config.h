/*
 * `scrape_configs:` of the server's settings file: targets, intervals and profiles to scrape.
 * docs/config.md documents every key.
 */
#pragma once

#include "config/config.h"

/* Names are the first part of the profiles' type ids. */
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
	bool delta; /* cumulative since the start of the program: store the increase */
	const char *path;
	int64_t window_ns; /* sent as seconds=N; 0 = not sent */
};

struct scrape_job {
	const char *name;
	const char *tenant;
	int64_t interval_ns, timeout_ns;
	const char *scheme, *path_prefix;
	struct config_list targets; /* host:port */
	struct config_map labels;
	struct scrape_profile profiles[SCRAPE_KINDS];
	/* At most one of the two ways of authentication. Files are read every time. */
	const char *bearer_token, *bearer_token_file;
	const char *username, *password, *password_file;
	const char *ca_file;
	bool insecure;
};

#define SCRAPE_MAX_TASKS 20000

extern const struct config_table scrape_job_table;

const char *scrape_kind_name(enum scrape_kind kind);
/* Checks beyond the option table: unique names, targets of the form host:port … Also sets defaults
 * that depend on other keys. `file` is for messages. */
enum err scrape_jobs_check(struct scrape_job *jobs, size_t n, const char *file,
			   struct fault *fault) MUST_CHECK;
