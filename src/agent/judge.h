/*
 * The target filter: rules add labels to a process or drop it, targets select it. Evaluated when a
 * process is first sampled, and again when the targets change.
 */
#pragma once

#include "agent/label_rules.h"
#include "agent/processes.h"
#include "agent/targets.h"

struct judge {
	const struct targets *targets;	 /* NULL or empty = all processes */
	const struct label_rules *rules; /* NULL = none */
	u32 number;			 /* generation of the targets, from 1 */
};

/* Whether the BPF programs must filter by process; whether undecided processes are sampled until
 * decided. */
bool judge_chooses(const struct judge *j);
bool judge_undecided(const struct judge *j);
/* Selects the processes given by pid. */
enum err judge_begin(const struct judge *j, struct kernel_side *k) MUST_CHECK;
/* Drops the decision about a process after exec or exit. */
void judge_event(const struct judge *j, struct kernel_side *k, const struct sideband_event *e);
enum judgement {
	JUDGED_WANTED,
	JUDGED_UNWANTED,
	JUDGED_LATER /* when its facts have been read from /proc */
};

/* Decides about a process; starts reading its facts if necessary. */
enum err judge_process(const struct judge *j, struct kernel_side *k, struct processes *p,
		       struct process *process, enum judgement *ret) MUST_CHECK;
