/*
 * What is to be done with a process: rules give it labels or keep it out, targets choose it. Judged
 * when it is first sampled, and again when the targets change.
 */
#pragma once

#include "agent/label_rules.h"
#include "agent/processes.h"
#include "agent/targets.h"

struct judge {
	const struct targets *targets;	 /* NULL or empty = everything */
	const struct label_rules *rules; /* NULL = none */
	u32 number;			 /* of the judgement, from 1; changes with the targets */
};

/* What the kernel side has to be told: only some processes; and who is not known is asked about. */
bool judge_chooses(const struct judge *j);
bool judge_undecided(const struct judge *j);
/* Chooses the processes that targets name by number. */
enum err judge_begin(const struct judge *j, struct kernel_side *k) MUST_CHECK;
/* Another program in a process, or its end: what was decided about it is not true any more. */
void judge_event(const struct judge *j, struct kernel_side *k, const struct sideband_event *e);
enum judgement {
	JUDGED_WANTED,
	JUDGED_UNWANTED,
	JUDGED_LATER /* when /proc has said who it is */
};

/* Has the process's facts asked for when that was not done yet. */
enum err judge_process(const struct judge *j, struct kernel_side *k, struct processes *p,
		       struct process *process, enum judgement *ret) MUST_CHECK;
