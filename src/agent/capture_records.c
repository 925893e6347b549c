/* Handles records: unwinds, combines, keeps for later, adds. */
#include "agent/capture_internal.h"

#include <math.h>

#include "agent/raw_stack.h"

/* Enough for the largest tables, unless the budget keeps them from being read at all. */
#define TABLE_PATIENCE_NS (30 * NS_PER_S)

/*
 * A user address as frame: a return address counts as the call before it. Callers are mostly in the
 * same file: `*last` is the mapping of the frame before.
 */
static struct sample_frame user_frame(struct capture *c, struct process *process, u64 address,
				      bool leaf, struct process_mapping **last, bool *unmapped)
{
	u64 wanted = leaf ? address : address - 1;
	struct process_mapping *m = *last;

	if (!m || wanted < m->start || wanted >= m->end)
		m = *last = process_find(process, wanted);
	*unmapped |= !m;
	if (!m || m->module == MODULE_NONE)
		return (struct sample_frame){wanted, MODULE_NONE, 0};
	/* A file that could not be read: the offset in it still says where. */
	if (!processes_place(c->processes, m))
		return (struct sample_frame){wanted - m->start + m->file_offset, m->module, 0};
	return (struct sample_frame){wanted - m->bias, m->module, 0};
}

double capture_kept(const struct record_head *head)
{
	return ldexp(-expm1(-(double)head->keep / KEEP_ONE), -(int)head->thin);
}

/* Truncated if either part of the stack is. */
static enum unwind_end whole_end(const struct record_head *head, enum unwind_end end)
{
	return end == UNWIND_ROOT && head->flags & RECORD_KERNEL_CUT ? UNWIND_CUT : end;
}

enum err capture_add(struct capture *c, struct process *process, const struct record_head *head,
		     const u64 *user, size_t user_count, enum unwind_end end)
{
	struct sample_frame frames[RECORD_KERNEL_FRAMES_MAX + RECORD_FRAMES_MAX];
	const u64 *kernel = (const u64 *)(head + 1);
	struct sample s = {.process = process,
			   .kind = head->kind,
			   .wait_state = head->wait_state,
			   .end = (u8)whole_end(head, end),
			   .syscall = head->syscall,
			   .frames = frames};
	struct process_mapping *last = NULL;
	double value = (double)head->value, count = 1;
	bool unmapped = false;
	u32 n = 0;

	memcpy(s.thread, head->comm, strnlen(head->comm, sizeof(s.thread)));
	for (u32 i = 0; i < head->kernel_frames && n < RECORD_KERNEL_FRAMES_MAX; i++)
		frames[n++] = (struct sample_frame){kernel[i] - (i ? 1 : 0), MODULE_KERNEL, 0};
	for (size_t i = 0; i < user_count && n < sizeof(frames) / sizeof(frames[0]); i++)
		if (user[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE)
			frames[n++] = user_frame(c, process, user[i], i == 0, &last, &unmapped);
	s.frame_count = n;
	/* Events about its mappings may have been lost. */
	if (unmapped)
		processes_reread(c->processes, process, c->now);
	if (head->kind == RECORD_WAKER)
		return wakers_add(&c->wakers, head->wait_id, head->time, process, s.thread, frames,
				  n);
	if (head->kind == RECORD_THREAD) {
		/* A table was late, and a later scan has reported this thread. */
		if (head->time < c->threads_time)
			return ERR_OK;
		value = 1;
		s.syscall = -1;
	} else if (head->kind == RECORD_OPEN) {
		s.kind = RECORD_WAIT;
		s.lock = head->lock;
		/* Stands for the ones that were not followed, too. */
		value = ldexp(value, head->thin);
		count = 0;
	} else if (head->kind == RECORD_WAIT) {
		/* Sampled with probability p: counts for 1/p. */
		double p = capture_kept(head);

		count = 1 / p;
		value = (value - (double)open_waits_told(&c->open, head->wait_id)) / p;
		s.lock = head->lock;
		wakers_find(&c->wakers, head->wait_id, &s);
	} else if (head->kind == RECORD_LOOP) {
		return capture_add_turn(c, head, &s);
	} else if (head->kind == RECORD_FAULT || head->kind == RECORD_MAP) {
		value /= -expm1(-value / (double)c->options.kernel.memory_mean_bytes);
		s.syscall = -1;
	} else {
		s.syscall = -1;
		s.time = head->time;
	}
	if (head->turn && s.kind != RECORD_THREAD)
		TRY(turns_add(&c->turns, head->tid, head->turn, head->time, &s, value));
	return collector_add(&c->collector, &s, value, count);
}

static enum err retry(struct capture *c, struct waiting_stack *one, const struct record_head *head,
		      u64 size, bool *ret_waits);

/* Selects the records to evict: the newer half of the loser's. */
struct giving_way {
	struct capture *capture;
	const struct process *loser;
	size_t keeps;
};

static enum err give_way(void *context, struct waiting_stack *one, const struct record_head *head,
			 u64 size, bool *ret_waits)
{
	struct giving_way *g = context;
	size_t room = record_room(size);

	*ret_waits = one->process != g->loser || g->keeps >= room;
	if (*ret_waits) {
		g->keeps -= one->process == g->loser ? room : 0;
		return ERR_OK;
	}
	g->keeps = 0;
	g->capture->raw_dropped++;
	return retry(g->capture, one, head, size, ret_waits);
}

/* Handles the evicted records now, without callers if necessary. */
static enum err make_room(struct capture *c, const struct process *loser)
{
	struct giving_way g = {c, loser, loser->waiting_bytes / 2};
	bool closing = c->closing;
	enum err e;

	c->closing = true;
	e = waiting_stacks_each(&c->waiting, &g, give_way);
	c->closing = closing;
	return e;
}

/* False when there is no room. */
static enum err keep_waiting(struct capture *c, struct process *process, u32 module,
			     const struct record_head *head, u64 size, bool *ret_kept)
{
	struct process *loser;

	TRY(waiting_stacks_add(&c->waiting, process, module, head, size, ret_kept));
	if (*ret_kept)
		return ERR_OK;
	/* The list is being walked: nothing may be removed from it now. */
	loser = c->waiting.walked ? NULL : waiting_stacks_loser(&c->waiting, process, size);
	if (!loser)
		return ERR_OK;
	TRY(make_room(c, loser));
	return waiting_stacks_add(&c->waiting, process, module, head, size, ret_kept);
}

/* Whether its table may still be ready soon. With almost no budget it never is. */
static bool is_worth_waiting(struct capture *c, u32 module)
{
	const struct module *m = module == MODULE_NONE ? NULL : modules_get(c->modules, module);

	return m && !m->late;
}

/* `*ret_missing`: the module whose table it has to wait for, or WAITS_FOR_PROCESS; MODULE_NONE = it
 * was added. */
static enum err walk_raw(struct capture *c, struct process *process, const struct record_head *head,
			 bool may_wait, u32 *ret_missing)
{
	u64 addresses[RECORD_FRAMES_MAX];
	size_t n;
	enum unwind_end end = raw_stack_walk(c->processes, c->modules, process, head, addresses,
					     RECORD_FRAMES_MAX, &n, ret_missing);

	if (end == UNWIND_UNMAPPED && may_wait) {
		processes_reread(c->processes, process, c->now);
		*ret_missing = WAITS_FOR_PROCESS;
		if (processes_pending(c->processes, process, REPORT_MAPS))
			return ERR_OK;
	}
	if (end == UNWIND_NO_TABLE && may_wait && is_worth_waiting(c, *ret_missing))
		return ERR_OK;
	*ret_missing = MODULE_NONE;
	c->raw_walked++;
	/* Only as much of the stack was copied: what is missing is cut, not wrong. */
	if (end == UNWIND_BAD_MEMORY && head->stack_size == RECORD_RAW_STACK)
		end = UNWIND_CUT;
	return capture_add(c, process, head, addresses, n, end);
}

/* A thread came back whose stack was sent when it left. */
static enum err join_stack(struct capture *c, const struct record_head *head,
			   struct process *process)
{
	size_t size;
	struct record_head *whole = wait_stacks_take(&c->left, head->wait_id, &size);
	enum err e;

	if (!head->value) {
		mem_free(whole);
		return ERR_OK;
	}
	/* There was no room for it, here or in the ring. */
	if (!whole)
		return capture_add(c, process, head, NULL, 0, UNWIND_NO_TABLE);
	whole->kind = RECORD_WAIT;
	whole->time = head->time;
	whole->value = head->value;
	whole->keep = head->keep;
	whole->turn = head->turn;
	e = capture_handle(c, whole, size);
	mem_free(whole);
	return e;
}

/* Whether its mappings are being read from /proc and must be known first. */
static bool needs_process(const struct capture *c, const struct process *process,
			  const struct record_head *head)
{
	return !(head->flags & RECORD_NO_USER) &&
	       processes_pending(c->processes, process, REPORT_MAPS) && !process->mappings.n;
}

/* Lost for lack of room, before it was known whether the process is selected. */
static enum err lose_undecided(struct capture *c, const struct record_head *head)
{
	c->records_lost++;
	losses_add_record(&c->losses, head);
	return ERR_OK;
}

/* `*ret_missing` as walk_raw says it. */
static enum err handle_known(struct capture *c, struct process *process,
			     const struct record_head *head, u64 size, bool may_wait,
			     u32 *ret_missing)
{
	enum target_verdict verdict;

	TRY(target_filter_process(&c->filter, c->kernel, c->processes, process, &verdict));
	*ret_missing = MODULE_NONE;
	if (may_wait && (verdict == FILTER_LATER || needs_process(c, process, head))) {
		*ret_missing = WAITS_FOR_PROCESS;
		return ERR_OK;
	}
	if ((verdict == FILTER_LATER || verdict == FILTER_UNKNOWN) && head->kind != RECORD_WAKER)
		return lose_undecided(c, head);
	/* Wakers of selected processes are reported, even if not selected themselves. */
	if (verdict != FILTER_WANTED && head->kind != RECORD_WAKER)
		return ERR_OK;
	if (head->flags & RECORD_APART)
		return join_stack(c, head, process);
	/* Also when it was not sent raw: others may use up all that may be sent so. */
	if (!(head->flags & RECORD_NO_USER))
		processes_want(c->processes, process, (u32)head->address_space);
	if (head->kind == RECORD_LEFT)
		return wait_stacks_add(&c->left, head, size);
	if (head->flags & RECORD_NO_USER)
		return capture_add(c, process, head, NULL, 0, UNWIND_ROOT);
	if (!(head->flags & RECORD_RAW))
		return capture_add(c, process, head, (const u64 *)(head + 1) + head->kernel_frames,
				   head->user_frames, head->end);
	return walk_raw(c, process, head, may_wait, ret_missing);
}

/* Keeps a record until the missing data arrives; without room it is handled immediately. */
static enum err wait_for(struct capture *c, struct process *process, u32 missing,
			 const struct record_head *head, u64 size)
{
	bool kept;

	if (missing == MODULE_NONE)
		return ERR_OK;
	TRY(keep_waiting(c, process, missing, head, size, &kept));
	if (kept)
		return ERR_OK;
	c->raw_dropped += head->flags & RECORD_RAW ? 1 : 0;
	if (missing == WAITS_FOR_PROCESS)
		return handle_known(c, process, head, size, false, &missing);
	return walk_raw(c, process, head, false, &missing);
}

enum err capture_handle_of(struct capture *c, struct process *process,
			   const struct record_head *head, u64 size)
{
	u32 missing;

	TRY(handle_known(c, process, head, size, !c->closing, &missing));
	return wait_for(c, process, missing, head, size);
}

enum err capture_walk_raw(struct capture *c, struct process *process,
			  const struct record_head *head, u64 size)
{
	u32 missing;

	TRY(walk_raw(c, process, head, !c->closing, &missing));
	return wait_for(c, process, missing, head, size);
}

enum err capture_handle(struct capture *c, const struct record_head *head, u64 size)
{
	struct process *process;

	TRY(processes_get(c->processes, head->pid, &process));
	if (!process->comm[0])
		memcpy(process->comm, head->comm, sizeof(process->comm));
	if (!(head->flags & RECORD_APART))
		process->kernel = head->flags & RECORD_KERNEL_THREAD;
	/* First seen after its memory was freed: there will be no exit event. */
	if ((head->flags & ~RECORD_KERNEL_CUT) == RECORD_NO_USER && !process->mappings.n &&
	    !process->ended && !processes_pending(c->processes, process, REPORT_MAPS))
		process->ended = head->time;
	return capture_handle_of(c, process, head, size);
}

/* Handles a waiting record with what is known by now. */
static enum err retry(struct capture *c, struct waiting_stack *one, const struct record_head *head,
		      u64 size, bool *ret_waits)
{
	*ret_waits = false;
	if (one->module == WAITS_FOR_PROCESS)
		TRY(handle_known(c, one->process, head, size, !c->closing, &one->module));
	else
		TRY(walk_raw(c, one->process, head, !c->closing, &one->module));
	*ret_waits = one->module != MODULE_NONE;
	return ERR_OK;
}

static bool is_ready(const struct capture *c, const struct waiting_stack *one)
{
	const struct module *m;

	if (c->closing)
		return true;
	if (one->module == WAITS_FOR_PROCESS)
		return !processes_pending(c->processes, one->process,
					  REPORT_MAPS | REPORT_FACTS | REPORT_TEXTS);
	m = modules_get(c->modules, one->module);
	return !m || m->late || (m->state != MODULE_READING && m->state != MODULE_UNREAD);
}

static enum err retry_ready(void *context, struct waiting_stack *one,
			    const struct record_head *head, u64 size, bool *ret_waits)
{
	*ret_waits = !is_ready(context, one);
	return *ret_waits ? ERR_OK : retry(context, one, head, size, ret_waits);
}

static void note_late_tables(struct capture *c)
{
	vec_for_each (one, &c->waiting.list) {
		struct module *m = NULL;

		if (one->module != WAITS_FOR_PROCESS && c->now > one->time + TABLE_PATIENCE_NS)
			m = modules_get(c->modules, one->module);
		if (m)
			m->late = true;
	}
}

/* Handles the records that are ready; all of them while the capture closes. */
enum err capture_retry_waiting(struct capture *c)
{
	enum err e;

	note_late_tables(c);
	e = waiting_stacks_each(&c->waiting, c, retry_ready);
	if (!c->waiting.list.n) {
		waiting_stacks_release(&c->waiting);
		waiting_stacks_init(&c->waiting, c->options.waiting_bytes);
	}
	return e;
}
