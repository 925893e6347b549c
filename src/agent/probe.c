/* Runs probes of processes and files (prober.h). */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/debug_source.h"
#include "agent/module_files.h"
#include "agent/prober.h"
#include "base/alloc.h"
#include "symbols/symbols.h"

struct probe *probe_new(enum probe_kind kind, u32 pid)
{
	struct probe *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kind = kind;
	p->rank = PROBE_SAMPLES_WAIT;
	p->pid = pid;
	p->fd = -1;
	return p;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	process_report_free(p->report);
	mem_free((char *)(uintptr_t)p->path.p);
	mem_free(p);
}

u32 probe_user(u32 pid)
{
	struct stat info;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &info) ? REPORT_NOBODY : info.st_uid;
}

static void look_at_file(struct probe *p)
{
	struct stat info;

	if (p->fd < 0)
		return;
	if (fstat(p->fd, &info)) {
		close(p->fd);
		p->fd = -1;
		return;
	}
	p->owner = info.st_uid;
	p->size = (u64)info.st_size;
	p->seconds = info.st_mtim.tv_sec;
	p->nanoseconds = (u64)info.st_mtim.tv_nsec;
}

void probe_work(struct probe *p)
{
	switch (p->kind) {
	case PROBE_PROCESS:
		process_report_read(p->report);
		break;
	case PROBE_MODULE:
		p->fd = module_file_open(p->pid, p->start, p->end, p->path, p->inode);
		break;
	case PROBE_PERF_MAP:
		if (jit_map_open((pid_t)p->pid, &p->fd) != ERR_OK)
			p->fd = -1;
		break;
	case PROBE_DEBUG_FILE:
		p->fd = debug_source_open(p->pid, p->path);
		break;
	}
	look_at_file(p);
}
