/*
 * What this machine allows the agent to do: every check tries the real thing (loads the programs,
 * opens the events) rather than guessing from versions, and what is missing comes with the one line
 * that helps.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum finding_state {
	FINDING_OK,
	FINDING_MISSING, /* something will not work */
	FINDING_NOTE,	 /* worth knowing, no fault */
};

struct finding {
	const char *name;
	enum finding_state state;
	char text[240];
	char fix[240]; /* one line; empty when there is nothing to do */
};

struct findings {
	VEC(struct finding) list;
};

void findings_release(struct findings *f);
enum err finding_add(struct findings *f, const char *name, enum finding_state state,
		     const char *text, const char *fix) MUST_CHECK;
bool findings_well(const struct findings *f);

/* Whether this process holds what loading programs takes; root in a container may not. */
bool doctor_may_load(void);
/* All checks of this machine, in the order a person reads them. */
enum err doctor_examine(struct findings *ret) MUST_CHECK;

/* One finding for each process of Vestal that runs: what it holds. Of others' only root sees all.
 */
enum err doctor_processes(struct findings *ret) MUST_CHECK;

/* ---- judgements over texts of the kernel, without a look at this machine ---- */

/* "6.18.5-generic"; below 5.17 the programs cannot be loaded. */
struct finding doctor_kernel(struct str release);
/* "[none] integrity confidentiality"; an empty text: this kernel has no lockdown. */
struct finding doctor_lockdown(struct str text);
/* /proc/sys/kernel/perf_event_paranoid; `perfmon`: the user stands above it. */
struct finding doctor_paranoid(struct str text, bool perfmon);
/* The first lines of /proc/kallsyms. */
struct finding doctor_kallsyms(struct str lines);
/* The mask of /proc/self/status (CapEff). */
struct finding doctor_capabilities(uint64_t mask);
