/*
 * Tests what this machine allows the agent to do: each check tries it (loads the programs, opens
 * the events) instead of comparing versions. A finding has a one-line fix, if there is one.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum finding_state {
	FINDING_OK,
	FINDING_MISSING, /* something does not work */
	FINDING_NOTE,	 /* information, no error */
};

struct finding {
	const char *name;
	enum finding_state state;
	char text[240];
	char fix[240]; /* one line; empty if there is nothing to do */
};

struct findings {
	VEC(struct finding) list;
};

void findings_release(struct findings *f);
enum err finding_add(struct findings *f, const char *name, enum finding_state state,
		     const char *text, const char *fix) MUST_CHECK;
bool findings_well(const struct findings *f);

/* Whether this process has the capabilities for loading BPF programs; root in a container may lack
 * them. */
bool doctor_may_load(void);
/* All checks, in order of display. */
enum err doctor_examine(struct findings *ret) MUST_CHECK;

/* One finding per running process of Vestal: its user and privileges. Only root sees those of other
 * users completely.
 */
enum err doctor_processes(struct findings *ret) MUST_CHECK;

/* ---- checks of texts from the kernel, independent of this machine ---- */

/* "6.18.5-generic"; below 5.17 the programs cannot be loaded. */
struct finding doctor_kernel(struct str release);
/* "[none] integrity confidentiality"; empty: this kernel has no lockdown. */
struct finding doctor_lockdown(struct str text);
/* /proc/sys/kernel/perf_event_paranoid; `perfmon`: the user has CAP_PERFMON. */
struct finding doctor_paranoid(struct str text, bool perfmon);
/* The first lines of /proc/kallsyms. */
struct finding doctor_kallsyms(struct str lines);
/* The mask of /proc/self/status (CapEff). */
struct finding doctor_capabilities(uint64_t mask);
