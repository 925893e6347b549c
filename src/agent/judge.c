#include "agent/judge.h"

bool judge_chooses(const struct judge *j)
{
	return (j->targets && j->targets->list.n) || (j->rules && label_rules_drop(j->rules));
}

bool judge_undecided(const struct judge *j)
{
	return (j->targets && j->targets->list.n && !targets_only_pids(j->targets)) ||
	       (j->rules && label_rules_drop(j->rules));
}

enum err judge_begin(const struct judge *j, struct kernel_side *k)
{
	for (size_t i = 0; j->targets && i < j->targets->list.n; i++) {
		struct target *t = &j->targets->list.v[i];
		enum err e;

		if (!target_is_pid(t))
			continue;
		e = kernel_choose(k, t->pid);
		/* It may have ended, or belong to another user: continue with the others. */
		if (e && e != ERR_NOT_FOUND && e != ERR_NO_PERMISSION)
			return e;
	}
	return ERR_OK;
}

void judge_event(const struct judge *j, struct kernel_side *k, const struct sideband_event *e)
{
	if (!judge_undecided(j))
		return;
	/* The BPF side does that, too, but may have a decision about the previous program. */
	if (e->kind == SIDEBAND_EXEC && !kernel_is_chosen(k, e->pid))
		kernel_undecide(k, e->pid);
	if (e->kind == SIDEBAND_EXIT)
		kernel_undecide(k, e->pid);
}

static struct str name_of(const struct process *process)
{
	return str_n(process->comm, strnlen(process->comm, sizeof(process->comm)));
}

static enum err decide(const struct judge *j, struct kernel_side *k, struct process *process,
		       struct process_look *look)
{
	bool some = j->targets && j->targets->list.n;

	if (!process->judged && j->rules && !process->kernel)
		TRY(label_rules_apply(j->rules, look, &process->texts, &process->facts,
				      &process->dropped));
	process->judged = j->number;
	process->unwanted = process->dropped || (some && !kernel_is_chosen(k, process->pid) &&
						 !targets_match(j->targets, look));
	if (process->unwanted)
		kernel_refuse(k, process->pid);
	/* Its children are followed in the kernel, or, if the map is full, when they are first
	 * sampled. */
	else if (some && judge_undecided(j) && kernel_choose(k, process->pid) == ERR_NO_MEMORY)
		return ERR_NO_MEMORY;
	return ERR_OK;
}

/* Without an answer of /proc: nothing is known of it. */
static enum err decide_blindly(const struct judge *j, struct kernel_side *k,
			       struct process *process)
{
	struct process_look look = process_look_at(process->pid, name_of(process), &process->facts);
	enum err e;

	look.have_command = look.have_cgroup = look.have_environment = true;
	e = decide(j, k, process, &look);
	process_look_release(&look);
	return e;
}

static enum err decide_by_report(const struct judge *j, struct kernel_side *k,
				 struct process *process)
{
	struct process_report *r = process->report;
	enum err e;

	r->look.comm = name_of(process);
	r->look.facts = &process->facts;
	e = decide(j, k, process, &r->look);
	process_report_free(r);
	process->report = NULL;
	return e;
}

enum err judge_process(const struct judge *j, struct kernel_side *k, struct processes *p,
		       struct process *process, enum judgement *ret)
{
	TRY(processes_facts(p, process));
	*ret = JUDGED_LATER;
	if (process->judged != j->number && (j->rules || judge_chooses(j))) {
		/* /proc is read once per decision. */
		if (!process->report && process->judging != j->number) {
			process->judging = j->number;
			(void)processes_ask(p, process, REPORT_FACTS | REPORT_TEXTS);
		}
		if (processes_pending(p, process, REPORT_FACTS | REPORT_TEXTS))
			return ERR_OK;
		if (process->report)
			TRY(decide_by_report(j, k, process));
		else
			TRY(decide_blindly(j, k, process));
	}
	*ret = process->unwanted ? JUDGED_UNWANTED : JUDGED_WANTED;
	return ERR_OK;
}
