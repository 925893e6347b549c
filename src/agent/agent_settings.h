/*
 * The agent's file (docs/config.md): its own keys, and a `profiling:` block in the form of other
 * profilers.
 */
#pragma once

#include "agent/daemon.h"
#include "agent/label_rules.h"
#include "agent/targets.h"
#include "config/config.h"

struct agent_settings {
	const char *server, *token;
	struct {
		const char *ca_file, *certificate, *key;
		bool insecure;
	} tls;
	struct config_map headers;
	int64_t rate, interval_ns; /* 0 = not said */
	const char *types;	   /* "cpu,offcpu"; NULL = not said */
	const char *log_level;
	bool sample_times;
	struct {
		const char *directory;
		size_t size;
	} queue;
	const char *metrics, *control;
	struct {
		const char *urls, *directory; /* NULL = not said */
		size_t max_file, max_size;    /* 0 = not said */
		int64_t timeout_ns;
	} debuginfod;
	struct {
		double cpu;
		size_t memory;
	} budget;			    /* negative and SIZE_MAX = not said */
	struct config_items targets, rules; /* struct target_item, struct label_rule_text */
	struct {
		bool names;
		const char *pattern, *paths;
	} redact;
	/* The block. */
	struct {
		bool cpu, memory;
		int64_t cpu_rate;
		size_t memory_rate;
		int64_t slow_request_ns, cpu_percent;
		bool errors;
		int64_t stack_depth;
		size_t profile_size;
		int64_t upload_ns;
		bool shedding;
		double shedding_share;
	} profiling;
	struct config *config;
	const char **lines; /* the headers as lines */
	struct targets chosen;
	struct label_rules *compiled;
};

void agent_settings_init(struct agent_settings *s);
/* Settings that were not read from a file may be released, too. */
enum err agent_settings_load(struct agent_settings *s, const char *path,
			     struct fault *fault) MUST_CHECK;
void agent_settings_release(struct agent_settings *s);
/* Overrides options by those of the file; they then point into the settings. */
void agent_settings_apply(const struct agent_settings *s, struct daemon_options *o);
/* Logs settings of the file that an agent does not support. */
void agent_settings_tell(const struct agent_settings *s);
