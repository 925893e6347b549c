#include "agent/target_filter.h"

bool target_filter_chooses(const struct target_filter *f)
{
	return (f->targets && f->targets->list.n) || (f->rules && label_rules_drop(f->rules));
}

bool target_filter_undecided(const struct target_filter *f)
{
	return (f->targets && f->targets->list.n && !targets_only_pids(f->targets)) ||
	       (f->rules && label_rules_drop(f->rules));
}

enum err target_filter_begin(const struct target_filter *f, struct kernel_side *k)
{
	for (size_t i = 0; f->targets && i < f->targets->list.n; i++) {
		struct target *t = &f->targets->list.v[i];
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

void target_filter_event(const struct target_filter *f, struct kernel_side *k,
			 const struct sideband_event *e)
{
	if (!target_filter_undecided(f))
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

static bool has_targets(const struct target_filter *f)
{
	return f->targets && f->targets->list.n;
}

static enum err follow(const struct target_filter *f, struct kernel_side *k,
		       struct process *process)
{
	process->decided = f->number;
	process->unwanted = false;
	/* Its children are followed in the kernel, or, if the map is full, when they are first
	 * sampled. */
	return has_targets(f) && target_filter_undecided(f) &&
			       kernel_choose(k, process->pid) == ERR_NO_MEMORY
		       ? ERR_NO_MEMORY
		       : ERR_OK;
}

static enum err decide(const struct target_filter *f, struct kernel_side *k,
		       struct process *process, struct process_look *look, bool blind)
{
	bool some = has_targets(f);

	process->blind = blind;
	if (!process->decided && f->rules && !process->kernel)
		TRY(label_rules_apply(f->rules, look, &process->texts, &process->facts,
				      &process->dropped));
	if (!process->dropped &&
	    (!some || kernel_is_chosen(k, process->pid) || targets_match(f->targets, look)))
		return follow(f, k, process);
	process->decided = f->number;
	process->unwanted = true;
	/* The BPF programs would send no more records of it, so it would not be decided again. */
	if (!blind)
		kernel_refuse(k, process->pid);
	return ERR_OK;
}

/* Whether it is selected without the data of /proc, which a process may not live long enough for. */
static bool is_selected(const struct target_filter *f, const struct kernel_side *k,
			const struct process *process)
{
	return !f->rules && has_targets(f) &&
	       (kernel_is_chosen(k, process->pid) ||
		targets_match_name(f->targets, process->pid, name_of(process)));
}

/* /proc has not answered in time: nothing is known of it until it does. */
static enum err decide_blindly(const struct target_filter *f, struct kernel_side *k,
			       struct process *process)
{
	struct process_look look = process_look_at(process->pid, name_of(process), &process->facts);
	enum err e;

	look.have_command = look.have_cgroup = look.have_environment = true;
	e = decide(f, k, process, &look, true);
	process_look_release(&look);
	return e;
}

static enum err decide_by_report(const struct target_filter *f, struct kernel_side *k,
				 struct process *process)
{
	struct process_report *r = process->report;
	enum err e;

	r->look.comm = name_of(process);
	r->look.facts = &process->facts;
	e = decide(f, k, process, &r->look, false);
	process_report_free(r);
	process->report = NULL;
	return e;
}

enum err target_filter_process(const struct target_filter *f, struct kernel_side *k,
			       struct processes *p, struct process *process,
			       enum target_verdict *ret)
{
	TRY(processes_facts(p, process));
	*ret = FILTER_LATER;
	if (process->decided != f->number && is_selected(f, k, process))
		TRY(follow(f, k, process));
	if (process->decided != f->number && (f->rules || target_filter_chooses(f))) {
		/* /proc is read once per decision. */
		if (!process->report && process->deciding != f->number) {
			process->deciding = f->number;
			(void)processes_ask(p, process, REPORT_FACTS | REPORT_TEXTS);
		}
		if (processes_pending(p, process, REPORT_FACTS | REPORT_TEXTS))
			return ERR_OK;
		if (process->report)
			TRY(decide_by_report(f, k, process));
		else
			TRY(decide_blindly(f, k, process));
	}
	if (process->unwanted)
		*ret = process->blind ? FILTER_UNKNOWN : FILTER_UNWANTED;
	else
		*ret = FILTER_WANTED;
	return ERR_OK;
}
