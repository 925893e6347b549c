#include "agent/capture_internal.h"
#include "base/clock.h"

/* The first look comes soon: a program may not live long. */
#define FIRST_LOOK_NS ((u64)50 * NS_PER_MS)

/* `ret_wanted`: it must be reported. */
static enum err process_of(struct capture *c, const struct record_head *head, struct process **ret,
			   bool *ret_wanted)
{
	enum target_verdict verdict;

	TRY(processes_get(c->processes, head->pid, ret));
	if (!(*ret)->comm[0])
		memcpy((*ret)->comm, head->comm, sizeof((*ret)->comm));
	TRY(target_filter_process(&c->filter, c->kernel, c->processes, *ret, &verdict));
	/* A process that is not decided yet is scanned later. */
	*ret_wanted = verdict == FILTER_WANTED;
	return ERR_OK;
}

/* How much of an open wait belongs to this window. */
static u64 open_part(const struct capture *c, const struct record_head *head)
{
	u64 since = head->value > c->window_start ? head->value : c->window_start;

	return head->time > since ? head->time - since : 0;
}

static enum err take_open(void *context, const struct record_head *head, size_t size)
{
	struct capture *c = context;
	struct process *process;
	u64 part = open_part(c, head);
	bool wanted;

	if (!part)
		return ERR_OK;
	TRY(process_of(c, head, &process, &wanted));
	if (!wanted)
		return ERR_OK;
	if (head->wait_id)
		TRY(open_waits_add(&c->reopened, head->wait_id,
				   part + open_waits_told(&c->open, head->wait_id)));
	/* It may have to wait for tables, beyond this window: the record carries its part. */
	buf_clear(&c->open_record);
	buf_append(&c->open_record, head, size);
	TRY(buf_error(&c->open_record));
	((struct record_head *)c->open_record.data)->value = part;
	return capture_walk_raw(c, process, (const struct record_head *)c->open_record.data, size);
}

enum err capture_open_waits(struct capture *c)
{
	TRY(kernel_open_waits(c->kernel, c, take_open));
	TRY(capture_open_turns(c));
	open_waits_release(&c->open);
	c->open = c->reopened;
	c->reopened = (struct open_waits){0};
	c->window_start = (u64)clock_monotonic_ns();
	return ERR_OK;
}

struct look {
	struct capture *capture;
	u64 begun;
};

static enum err take_thread(void *context, const struct record_head *head, size_t size)
{
	struct look *look = context;
	struct capture *c = look->capture;
	struct process *process;
	bool wanted;

	/* Keep the last count until there is a new one, because processes may end. */
	if (c->threads_time != look->begun) {
		collector_forget(&c->collector, RECORD_THREAD);
		c->threads_time = look->begun;
	}
	TRY(process_of(c, head, &process, &wanted));
	if (!wanted)
		return ERR_OK;
	if (head->flags & RECORD_NO_USER)
		return capture_add(c, process, head, NULL, 0, UNWIND_ROOT);
	return capture_walk_raw(c, process, head, size);
}

enum err capture_look_at_threads(struct capture *c)
{
	struct look look = {c, (u64)clock_monotonic_ns()};

	if (!(capture_types(c) & CAPTURE_THREADS) || look.begun < c->look_next)
		return ERR_OK;
	c->look_gap = c->look_gap ? 2 * c->look_gap : FIRST_LOOK_NS;
	if (c->look_gap > c->options.look_ns)
		c->look_gap = c->options.look_ns;
	c->look_next = look.begun + c->look_gap;
	return kernel_count_threads(c->kernel, &look, take_thread);
}
