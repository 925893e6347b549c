/* Whose samples are wanted, as the kernel side keeps it. */
#include "agent/kernel_internal.h"

#include <bpf/bpf.h>

#include "agent/own_events.h"

void kernel_forget_decisions(struct kernel_side *k)
{
	__atomic_fetch_add(&k->skeleton->data->settings.targets_turn, 1, __ATOMIC_RELEASE);
}

static enum err decide(struct kernel_side *k, u32 pid, u32 decision)
{
	int status = bpf_map__update_elem(k->skeleton->maps.targets, &pid, sizeof(pid), &decision,
					  sizeof(decision), BPF_ANY);

	kernel_forget_decisions(k);
	return status ? err_from_errno(-status) : ERR_OK;
}

enum err kernel_choose(struct kernel_side *k, u32 pid)
{
	return k->own ? own_events_follow(k->own, pid) : decide(k, pid, TARGET_CHOSEN);
}

void kernel_refuse(struct kernel_side *k, u32 pid)
{
	/* Without room for it the agent itself leaves it out, again and again. */
	if (!k->own && decide(k, pid, TARGET_REFUSED) != ERR_OK)
		return;
}

void kernel_undecide(struct kernel_side *k, u32 pid)
{
	if (k->own)
		return;
	bpf_map__delete_elem(k->skeleton->maps.targets, &pid, sizeof(pid), 0);
	kernel_forget_decisions(k);
}

bool kernel_is_chosen(const struct kernel_side *k, u32 pid)
{
	u32 decision = 0;

	if (k->own)
		return k->options.chosen && !k->options.undecided;
	return !bpf_map__lookup_elem(k->skeleton->maps.targets, &pid, sizeof(pid), &decision,
				     sizeof(decision), 0) &&
	       decision == TARGET_CHOSEN;
}

enum err kernel_choose_anew(struct kernel_side *k, bool chosen, bool undecided)
{
	u32 pid;

	k->options.chosen = chosen;
	k->options.undecided = undecided;
	if (k->own)
		return own_events_begin_anew(k->own, !chosen || undecided);
	/* Everything is undecided in between: too much is better than too little. */
	k->skeleton->data->settings.undecided = 1;
	while (!bpf_map_get_next_key(bpf_map__fd(k->skeleton->maps.targets), NULL, &pid))
		if (bpf_map_delete_elem(bpf_map__fd(k->skeleton->maps.targets), &pid))
			break;
	k->skeleton->data->settings.targets = chosen;
	k->skeleton->data->settings.undecided = undecided;
	kernel_forget_decisions(k);
	return ERR_OK;
}
