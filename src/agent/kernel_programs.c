/* Which programs run: attached, paused, and off again. */
#include "agent/kernel_internal.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "agent/own_events.h"
#include "base/clock.h"

size_t kernel_needs(const struct kernel_side *k, struct need needs[NEEDS_MAX])
{
	struct agent_bpf *s = k->skeleton;
	unsigned types = k->options.types;
	bool waits = capture_needs_waits(types), mapped = types & CAPTURE_MAPPED,
	     loops = types & CAPTURE_LOOPS;
	const struct need all[] = {
		{s->progs.on_timer, capture_needs_timer(types), ELSEWHERE},
		{s->progs.on_thread, waits || types & CAPTURE_THREADS, ELSEWHERE},
		{s->progs.on_fork, true, ATTACHED},
		{s->progs.on_exec, true, ATTACHED},
		{s->progs.on_return, waits && k->returns, FOR_WAITS},
		{s->progs.on_waking, waits, FOR_WAITS},
		{s->progs.on_exit, waits, ATTACHED},
		{s->progs.on_switch, waits && k->returns, FOR_WAITS},
		{s->progs.on_switch_alone, waits && !k->returns, FOR_WAITS},
		{s->progs.on_pages, types & CAPTURE_FAULTS, ATTACHED},
		{s->progs.on_address_space, mapped, ATTACHED},
		{s->progs.on_loop_call, loops, ATTACHED},
		{s->progs.on_loop_call_end, loops, ATTACHED},
	};

	memcpy(needs, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static void detach_all(struct kernel_side *k)
{
	vec_for_each (one, &k->links)
		bpf_link__destroy(one->link);
	k->links.n = 0;
}

static void detach_waits(struct kernel_side *k)
{
	size_t kept = 0;

	vec_for_each (one, &k->links) {
		if (one->wait)
			bpf_link__destroy(one->link);
		else
			k->links.v[kept++] = *one;
	}
	k->links.n = kept;
}

void kernel_detach(struct kernel_side *k)
{
	if (k->own)
		own_events_switch(k->own, false);
	cpu_clocks_stop(&k->clocks);
	detach_all(k);
}

static enum err attach_program(struct kernel_side *k, const struct need *need, struct fault *fault)
{
	struct kernel_link one = {bpf_program__attach(need->program), need->attach == FOR_WAITS};
	enum err e;

	if (!one.link)
		return fault_set(fault, ERR_UNSUPPORTED, "%s cannot be attached: %s",
				 bpf_program__name(need->program), strerror(errno));
	e = vec_push(&k->links, one);
	if (e)
		bpf_link__destroy(one.link);
	return e;
}

enum err kernel_switch_waits(struct kernel_side *k, bool on, struct fault *fault)
{
	struct need needs[NEEDS_MAX];
	size_t n;

	if (k->own || k->waits_off == !on)
		return ERR_OK;
	k->waits_off = !on;
	n = kernel_needs(k, needs);
	detach_waits(k);
	/* Those under way are not told of: nobody will see how they end, or saw what was between.
	 */
	k->skeleton->data->settings.waits_since = on ? (u64)clock_monotonic_ns() : UINT64_MAX;
	for (size_t i = 0; on && i < n; i++)
		if (needs[i].load && needs[i].attach == FOR_WAITS)
			TRY(attach_program(k, &needs[i], fault));
	return ERR_OK;
}

/* Kernels that cannot: waits are then seen when they end. */
static enum err attach_threads(struct kernel_side *k, struct fault *fault)
{
	if (!k->threads)
		k->threads = bpf_program__attach_iter(k->skeleton->progs.on_thread, NULL);
	if (k->threads || !(k->options.types & CAPTURE_THREADS))
		return ERR_OK;
	return fault_set(fault, ERR_UNSUPPORTED, "threads cannot be counted: %s", strerror(errno));
}

static enum err attach_programs(struct kernel_side *k, struct fault *fault)
{
	struct need needs[NEEDS_MAX];
	size_t n = kernel_needs(k, needs);

	for (size_t i = 0; i < n; i++)
		if (needs[i].load && needs[i].attach != ELSEWHERE &&
		    !(needs[i].attach == FOR_WAITS && k->waits_off))
			TRY(attach_program(k, &needs[i], fault));
	if (capture_needs_waits(k->options.types) || k->options.types & CAPTURE_THREADS)
		return attach_threads(k, fault);
	return ERR_OK;
}

enum err kernel_attach(struct kernel_side *k, struct fault *fault)
{
	if (k->own) {
		own_events_switch(k->own, true);
		return ERR_OK;
	}
	k->skeleton->data->settings.raw_left = k->options.raw_stacks;
	k->clocks.program = bpf_program__fd(k->skeleton->progs.on_timer);
	k->clocks.periods = bpf_map__fd(k->skeleton->maps.clock_periods);
	if (capture_needs_timer(k->options.types))
		TRY(cpu_clocks_start(&k->clocks, k->skeleton->data->settings.period_ns, fault));
	return attach_programs(k, fault);
}

void kernel_pause(struct kernel_side *k)
{
	if (k->own) {
		own_events_switch(k->own, false);
		return;
	}
	/* One that goes on is heard of and told: nothing is wrong with that. */
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
	if (!k->waits_off)
		k->skeleton->data->settings.waits_since = (u64)clock_monotonic_ns();
	return attach_programs(k, fault);
}
