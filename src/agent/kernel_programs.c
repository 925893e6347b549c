/* Attaching, pausing and detaching programs. */
#include "agent/kernel_internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

#include "agent/own_events.h"
#include "base/clock.h"

size_t kernel_needs(const struct kernel_side *k, struct need needs[NEEDS_MAX])
{
	struct agent_bpf *s = k->skeleton;
	unsigned back = k->returns ? CAPTURE_BY_WAITS : 0;
	const struct need all[] = {
		{s->progs.on_timer, CAPTURE_BY_TIMER, ELSEWHERE},
		{s->progs.on_thread, CAPTURE_BY_WAITS | CAPTURE_THREADS, ELSEWHERE},
		{s->progs.on_fork, CAPTURE_ALL, ATTACHED},
		{s->progs.on_exec, CAPTURE_ALL, ATTACHED},
		{s->progs.on_free, CAPTURE_ALL, ATTACHED},
		{s->progs.on_return, back, FOR_WAITS},
		{s->progs.on_waking, CAPTURE_BY_WAITS, FOR_WAITS},
		{s->progs.on_exit, CAPTURE_BY_WAITS, ATTACHED},
		{s->progs.on_switch, back, FOR_WAITS},
		{s->progs.on_switch_alone, CAPTURE_BY_WAITS & ~back, FOR_WAITS},
		{s->progs.on_pages, CAPTURE_FAULTS, ATTACHED},
		{s->progs.on_address_space, CAPTURE_MAPPED, ATTACHED},
		{s->progs.on_loop_call, CAPTURE_LOOPS, ATTACHED},
		{s->progs.on_loop_call_end, CAPTURE_LOOPS, ATTACHED},
	};
	size_t n = sizeof(all) / sizeof(all[0]);

	for (size_t i = 0; i < n; i++) {
		needs[i] = all[i];
		needs[i].types &= k->options.types;
	}
	return n;
}

unsigned kernel_types(const struct kernel_side *k)
{
	return k->options.types;
}

const struct capture_lack *kernel_lacks(const struct kernel_side *k, size_t *ret_count)
{
	*ret_count = k->lack_count;
	return k->lacks;
}

enum err kernel_leave_out(struct kernel_side *k, unsigned types, enum err e, struct fault *why)
{
	char names[CAPTURE_NAMES_ROOM], prefix[CAPTURE_NAMES_ROOM + 40];

	types &= k->options.types;
	if (types == k->options.types) {
		capture_types_write(types, names);
		snprintf(prefix, sizeof(prefix), "%s cannot be captured", names);
		fault_prefix(why, prefix);
		return e;
	}
	k->options.types &= ~types;
	/* Each time one type goes at least. */
	k->lacks[k->lack_count++] = (struct capture_lack){types, *why};
	return ERR_OK;
}

static void detach_all(struct kernel_side *k)
{
	vec_for_each (link, &k->links)
		bpf_link__destroy(*link);
	k->links.n = 0;
}

void kernel_detach(struct kernel_side *k)
{
	if (k->own)
		own_events_switch(k->own, false);
	cpu_clocks_stop(&k->clocks);
	detach_all(k);
}

static bool may_not(int error)
{
	return error == EPERM || error == EACCES;
}

static enum err attach_program(struct kernel_side *k, const struct need *need, struct fault *fault)
{
	struct bpf_link *link = bpf_program__attach(need->program);
	enum err e;

	if (!link)
		return fault_set(fault, may_not(errno) ? ERR_NO_PERMISSION : ERR_UNSUPPORTED,
				 "the kernel does not attach %s to %s: %s",
				 bpf_program__name(need->program),
				 bpf_program__section_name(need->program), strerror(errno));
	e = vec_push(&k->links, link);
	if (e)
		bpf_link__destroy(link);
	return e;
}

/* Kernels that cannot: waits are then seen when they end. */
static enum err attach_threads(struct kernel_side *k, struct fault *fault)
{
	if (!k->threads)
		k->threads = bpf_program__attach_iter(k->skeleton->progs.on_thread, NULL);
	if (k->threads || !(k->options.types & CAPTURE_THREADS))
		return ERR_OK;
	return fault_set(fault, may_not(errno) ? ERR_NO_PERMISSION : ERR_UNSUPPORTED,
			 "threads cannot be counted: %s", strerror(errno));
}

/* On failure `ret_types` are those that cannot be without what failed. */
static enum err attach_needed(struct kernel_side *k, unsigned *ret_types, struct fault *fault)
{
	struct need needs[NEEDS_MAX];
	size_t n = kernel_needs(k, needs);

	for (size_t i = 0; i < n; i++) {
		if (!needs[i].types || needs[i].attach == ELSEWHERE)
			continue;
		*ret_types = needs[i].types;
		TRY(attach_program(k, &needs[i], fault));
	}
	*ret_types = CAPTURE_THREADS;
	if (k->options.types & (CAPTURE_BY_WAITS | CAPTURE_THREADS))
		return attach_threads(k, fault);
	return ERR_OK;
}

/* All that go: a type whose programs are refused does not stop the others. */
static enum err attach_programs(struct kernel_side *k, struct fault *fault)
{
	for (;;) {
		struct fault why = {0};
		unsigned types;
		enum err e = attach_needed(k, &types, &why);

		if (!e || e == ERR_NO_MEMORY)
			return e;
		detach_all(k);
		e = kernel_leave_out(k, types, e, &why);
		if (e) {
			if (fault)
				*fault = why;
			return e;
		}
		k->skeleton->data->settings.loops = k->options.types & CAPTURE_LOOPS;
	}
}

static enum err start_clocks(struct kernel_side *k, struct fault *fault)
{
	struct fault why = {0};
	enum err e;

	/* No clock is started later, either. */
	cpu_clocks_stop(&k->clocks);
	if (!capture_needs_timer(k->options.types))
		return ERR_OK;
	e = cpu_clocks_start(&k->clocks, k->skeleton->data->settings.period_ns, &why);
	if (!e || e == ERR_NO_MEMORY)
		return e;
	cpu_clocks_stop(&k->clocks);
	e = kernel_leave_out(k, CAPTURE_BY_TIMER, e, &why);
	if (e && fault)
		*fault = why;
	return e;
}

enum err kernel_attach(struct kernel_side *k, struct fault *fault)
{
	if (k->own) {
		own_events_switch(k->own, true);
		return ERR_OK;
	}
	k->skeleton->data->settings.raw_left = k->options.raw_stacks;
	k->skeleton->data->settings.wake_on_news = 1;
	k->clocks.program = bpf_program__fd(k->skeleton->progs.on_timer);
	k->clocks.periods = bpf_map__fd(k->skeleton->maps.clock_periods);
	TRY(start_clocks(k, fault));
	return attach_programs(k, fault);
}

void kernel_pause(struct kernel_side *k)
{
	if (k->own) {
		own_events_switch(k->own, false);
		return;
	}
	/* A timer that could not be paused only produces superfluous records. */
	(void)!cpu_clocks_switch(&k->clocks, false, NULL);
	detach_all(k);
}

enum err kernel_resume(struct kernel_side *k, struct fault *fault)
{
	if (k->own) {
		own_events_switch(k->own, true);
		return ERR_OK;
	}
	TRY(cpu_clocks_switch(&k->clocks, true, fault));
	kernel_forget_threads(k);
	k->skeleton->data->settings.waits_since = (u64)clock_monotonic_ns();
	return attach_programs(k, fault);
}
