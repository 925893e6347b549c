/* Files whose tables are there, as the kernel side finds them (bpf/vmas.h). */
#include "agent/kernel_side.h"
#include "agent/modules_internal.h"
#include "unwind/unwinders.h"

/* As it was opened: the kernel side compares it with what a process has mapped. */
static bool key_of(const struct module *module, struct file_key *ret)
{
	*ret = (struct file_key){0};
	if (module->vdso)
		return true;
	if (module->fd < 0)
		return false;
	*ret = (struct file_key){.device = module->device,
				 .inode = module->inode,
				 .size = module->size,
				 .seconds = module->seconds,
				 .nanoseconds = module->nanoseconds};
	return true;
}

void module_tell(struct modules *m, struct module *module)
{
	struct file_entry entry = {.pages = module->placed.pages.unit,
				   .page_count = module->placed.page_count,
				   .table = module->placed.number,
				   .unwinder = module->no_table ? UNWINDER_FRAME_POINTERS : 0};

	/* One with more parts is walked when its process is known. */
	if (!m->kernel || module->told || module->kernel || module->forgotten ||
	    module->image.load_count > FILE_LOADS || !key_of(module, &module->file))
		return;
	for (u32 i = 0; i < module->image.load_count; i++) {
		const struct unwind_load *load = &module->image.loads[i];

		entry.loads[i].offset = load->file_offset;
		entry.loads[i].size = load->size;
		entry.loads[i].shift = load->file_offset - load->address;
		entry.count++;
	}
	kernel_set_file(m->kernel, &module->file, &entry);
	module->told = true;
}

void module_untell(struct modules *m, struct module *module)
{
	if (module->told)
		kernel_forget_file(m->kernel, &module->file);
	module->told = false;
}
