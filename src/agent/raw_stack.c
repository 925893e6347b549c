#include "agent/raw_stack.h"

#include "unwind/arch_x86_64.h"
#include "unwind/unwinders.h"

struct raw_walk {
	struct processes *processes;
	struct modules *modules;
	struct process *process;
	const u8 *stack;
	u64 stack_start, stack_size;
	u32 missing; /* module whose table is not ready yet */
};

static bool read_word(void *context, u64 address, u64 *ret)
{
	const struct raw_walk *w = context;
	u64 offset = address - w->stack_start;

	if (address < w->stack_start || offset > w->stack_size ||
	    w->stack_size - offset < sizeof(*ret))
		return false;
	memcpy(ret, w->stack + offset, sizeof(*ret));
	return true;
}

static int find_rule(void *context, u64 address, u32 *ret)
{
	struct raw_walk *w = context;
	struct process_mapping *m = process_find(w->process, address);
	struct module *module;

	if (!m)
		return UNWIND_UNMAPPED;
	if (m->module == MODULE_NONE) {
		*ret = UNWIND_RULE_OTHER(UNWINDER_FRAME_POINTERS);
		return -1;
	}
	module = modules_get(w->modules, m->module);
	modules_read(w->modules, m->module);
	if (module->state == MODULE_READING) {
		w->missing = m->module;
		return UNWIND_NO_TABLE;
	}
	if (module->state == MODULE_FAILED || !processes_place(w->processes, m)) {
		*ret = UNWIND_RULE_OTHER(UNWINDER_FRAME_POINTERS);
		return -1;
	}
	return module_rule(w->modules, m->module, address - m->bias, ret);
}

enum unwind_end raw_stack_walk(struct processes *p, struct modules *m, struct process *process,
			       const struct record_head *head, u64 *addresses, size_t max,
			       size_t *ret_count, u32 *ret_missing)
{
	enum unwind_end end;
	const u64 *words = (const u64 *)(head + 1) + head->kernel_frames;
	struct raw_walk w = {.processes = p,
			     .modules = m,
			     .process = process,
			     .missing = MODULE_NONE,
			     .stack = (const u8 *)(words + RECORD_REGISTERS),
			     .stack_start = words[ARCH_DWARF_RSP],
			     .stack_size = head->stack_size};
	struct unwind_process walk = {.context = &w, .read = read_word, .rule = find_rule};

	walk.rules = modules_rules(m, &walk.rule_count);
	end = unwind_walk(&walk, words, addresses, max, ret_count);
	*ret_missing = w.missing;
	return end;
}
