/*
 * Identity of a process by its ancestors: one that still runs its parent's program has its parent's
 * facts, without reading /proc; one that ended before it was read inherits environment and control
 * group of its parent, or of an earlier ancestor, even if these have ended.
 */
#include "agent/processes_internal.h"

/* Of those that began one another and are gone. */
#define ANCESTORS_MOST 8u
/* Limits of facts read from /proc: per second, and at once. */
#define FACTS_RATE     20.0
#define FACTS_BURST    300.0

/* ---- those that began it ---- */

/* An older one always: no two keep each other. */
void process_keep_parents(struct processes *p, struct process *process)
{
	for (u32 i = 0; i < ANCESTORS_MOST && !process->keeps; i++) {
		struct process *parent = process_at(p, process->parent_at);

		if (!parent)
			return;
		process->keeps = true;
		parent->references++;
		if (parent->facts.read)
			return;
		process = parent;
	}
}

void process_forget_parent(struct processes *p, struct process *process)
{
	while (process && process->keeps) {
		struct process *parent = process_at(p, process->parent_at);

		process->keeps = false;
		if (parent)
			parent->references--;
		/* A parent that was only kept for this one, and is not being read, no longer needs
		 * its own ancestors. */
		process = parent && !parent->references && !(parent->asked & REPORT_FACTS) &&
					  !parent->facts_due
				  ? parent
				  : NULL;
	}
}

/* Its parent, or what that became: another program, whose environment is most likely the same. */
static struct process *find_parent(const struct processes *p, const struct process *process,
				   bool *ret_as_it_was)
{
	struct process *parent = process_at(p, process->parent_at);

	*ret_as_it_was = parent;
	if (parent || !process->parent)
		return parent;
	parent = processes_last(p, process->parent);
	/* A forked copy with this pid is not the parent: the pid was reused. */
	return parent == process || (parent && parent->copied) ? NULL : parent;
}

/* ---- what is known without /proc ---- */

static struct str comm_of(const struct process *process)
{
	return str_n(process->comm, strnlen(process->comm, sizeof(process->comm)));
}

static struct str base_name(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

/*
 * Used until its facts are read, which may never happen if it ends earlier: the service is named
 * after its program, unless the parent's environment names one.
 */
static enum err guess_facts(struct processes *p, struct process *process)
{
	struct str program = process_program_path(p, process), service = base_name(program);
	struct str comm = comm_of(process);
	char *path = arena_copy(&process->texts, program.n ? program : STR("")), *name;
	bool as_it_was;
	const struct process *parent = find_parent(p, process, &as_it_was);

	if (!service.n)
		service = comm.n ? comm : STR("unknown");
	name = path ? arena_copy(&process->texts, service) : NULL;
	if (!name)
		return ERR_NO_MEMORY;
	process->facts.program = str_n(path, program.n);
	process->facts.service = str_n(name, service.n);
	if (!parent || !parent->facts.read || parent->kernel)
		return ERR_OK;
	return process_facts_inherit(&parent->facts, process->copied && as_it_was, &process->texts,
				     &process->facts);
}

/* Hundreds of programs may start per second: longer-lived ones are read later. */
static bool may_ask_facts(struct processes *p)
{
	u64 now = (u64)clock_monotonic_ns();
	double more = (double)(now - p->facts_time) / NS_PER_S * FACTS_RATE;

	p->facts_credit = p->facts_time ? p->facts_credit + more : FACTS_BURST;
	if (p->facts_credit > FACTS_BURST)
		p->facts_credit = FACTS_BURST;
	p->facts_time = now;
	if (p->facts_credit < 1)
		return false;
	p->facts_credit--;
	return true;
}

/* ---- what the parent is ---- */

static void facts_known(struct processes *p, struct process *process)
{
	p->facts_due -= process->facts_due;
	process->facts_due = false;
	process->facts.read = true;
	process_forget_parent(p, process);
}

/* A forked child of a known process need not be read. Rules still apply to it separately. */
static enum err copy_facts(struct processes *p, struct process *process)
{
	const struct process *parent = process->copied ? process_at(p, process->parent_at) : NULL;
	struct process_facts f = {.service = comm_of(process)};

	if (!parent || !parent->facts.read || parent->kernel || parent->dropped ||
	    parent->facts.labels.n)
		return ERR_OK;
	TRY(process_facts_inherit(&parent->facts, true, &process->texts, &f));
	process->uid = parent->uid;
	process->facts = f;
	facts_known(p, process);
	return ERR_OK;
}

static enum err read_facts(struct processes *p, struct process *process, u32 ancestors);

static enum err take_from_parent(struct processes *p, struct process *process, u32 ancestors)
{
	bool as_it_was;
	struct process *parent = ancestors ? find_parent(p, process, &as_it_was) : NULL;

	if (parent) {
		TRY(read_facts(p, parent, ancestors - 1));
		if (!parent->facts.read &&
		    ((u64)clock_monotonic_ns() - process->facts_due_at < ASKED_NS ||
		     processes_pending(p, parent, REPORT_FACTS)))
			return ERR_OK;
	}
	if (parent && parent->facts.read && !parent->kernel) {
		TRY(process_facts_inherit(&parent->facts, process->copied && as_it_was,
					  &process->texts, &process->facts));
		if (process->uid == REPORT_NOBODY)
			process->uid = parent->uid;
	}
	facts_known(p, process);
	return ERR_OK;
}

static enum err read_facts(struct processes *p, struct process *process, u32 ancestors)
{
	if (process->facts.read)
		return ERR_OK;
	/* All of the kernel's threads are one service: there are hundreds, most do little. */
	if (process->kernel) {
		process->facts = (struct process_facts){.service = STR("kernel")};
		facts_known(p, process);
		return ERR_OK;
	}
	if (!process->facts_due)
		TRY(copy_facts(p, process));
	if (process->facts.read)
		return ERR_OK;
	if (!process->facts_due && !(process->asked & REPORT_FACTS) &&
	    (!p->prober || may_ask_facts(p)))
		(void)processes_ask(p, process, REPORT_FACTS);
	if (process->facts_due)
		TRY(take_from_parent(p, process, ancestors));
	return process->facts.service.n ? ERR_OK : guess_facts(p, process);
}

enum err processes_facts(struct processes *p, struct process *process)
{
	return read_facts(p, process, ANCESTORS_MOST);
}

void processes_settle_facts(struct processes *p)
{
	if (!p->facts_due)
		return;
	/* Without memory it stays due. */
	vec_for_each (one, &p->list)
		if (*one && (*one)->facts_due)
			(void)!read_facts(p, *one, ANCESTORS_MOST);
}

void process_take_facts(struct processes *p, struct process *process, struct process_report *r)
{
	/* Labels that rules gave are kept with them, unless it is another program by now. */
	if (!r->facts.read || (process->facts.read &&
			       (r->facts.gone || str_eq(process->facts.program, r->facts.program))))
		return;
	arena_release(&process->texts);
	process->texts = r->texts;
	process->facts = r->facts;
	process->decided = process->deciding = 0;
	r->texts = (struct arena){0};
	if (!r->facts.gone) {
		facts_known(p, process);
		return;
	}
	/* Wait for the facts of its parent, which may have to be read, too. */
	process->facts.read = false;
	if (process->facts_due)
		return;
	process->facts_due = true;
	process->facts_due_at = (u64)clock_monotonic_ns();
	p->facts_due++;
}
