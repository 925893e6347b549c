/*
 * The target filter: rules add labels to a process or drop it, targets select it. Evaluated when a
 * process is first sampled, and again when the targets change.
 */
#pragma once

#include "agent/label_rules.h"
#include "agent/processes.h"
#include "agent/targets.h"

struct target_filter {
	const struct targets *targets;	 /* NULL or empty = all processes */
	const struct label_rules *rules; /* NULL = none */
	u32 number;			 /* generation of the targets, from 1 */
};

/* Whether the BPF programs must filter by process; whether undecided processes are sampled until
 * decided. */
bool target_filter_chooses(const struct target_filter *f);
bool target_filter_undecided(const struct target_filter *f);
/* Selects the processes given by pid. */
enum err target_filter_begin(const struct target_filter *f, struct kernel_side *k) MUST_CHECK;
/* Drops the decision about a process after exec or exit. */
void target_filter_event(const struct target_filter *f, struct kernel_side *k,
			 const struct sideband_event *e);
enum target_verdict {
	FILTER_WANTED,
	FILTER_UNWANTED,
	FILTER_LATER,  /* when its facts have been read from /proc */
	FILTER_UNKNOWN /* /proc did not answer in time: decided again if it still does */
};

/* Decides about a process; starts reading its facts if necessary. */
enum err target_filter_process(const struct target_filter *f, struct kernel_side *k,
			       struct processes *p, struct process *process,
			       enum target_verdict *ret) MUST_CHECK;
