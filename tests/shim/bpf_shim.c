/*
 * A kernel that refuses one BPF program, for a program started with LD_PRELOAD: BPF_SHIM is
 * "load NAME ERRNO" or "attach NAME ERRNO", where NAME is the program's, or "*" for any
 * (tests/e2e/test_refused.py), or "clock CPU ERRNO" for the CPU clock of one CPU
 * (tests/e2e/test_seeded_losses.py). libbpf makes its calls through syscall().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

typedef long (*call_fn)(long, ...);

static call_fn next_call(void)
{
	static call_fn next;

	if (!next)
		next = (call_fn)dlsym(RTLD_NEXT, "syscall");
	return next;
}

/* The kernel keeps 15 letters of a name. */
static bool is_named(const char *name, const char *wanted)
{
	return !strcmp(wanted, "*") || !strncmp(name, wanted, BPF_OBJ_NAME_LEN - 1);
}

static bool descriptor_is_named(unsigned fd, const char *wanted)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {0};

	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (unsigned long)&info;
	return !next_call()(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr.info)) &&
	       is_named(info.name, wanted);
}

static int refusal(long command, const union bpf_attr *attr)
{
	char what[8], name[32];
	const char *rule = getenv("BPF_SHIM");
	int error;

	if (!rule || sscanf(rule, "%7s %31s %d", what, name, &error) != 3)
		return 0;
	if (!strcmp(what, "clock"))
		return 0;
	if (!strcmp(what, "load"))
		return command == BPF_PROG_LOAD && is_named(attr->prog_name, name) ? error : 0;
	if (command == BPF_RAW_TRACEPOINT_OPEN)
		return descriptor_is_named(attr->raw_tracepoint.prog_fd, name) ? error : 0;
	if (command == BPF_LINK_CREATE)
		return descriptor_is_named(attr->link_create.prog_fd, name) ? error : 0;
	return 0;
}

static int clock_refusal(const struct perf_event_attr *attr, int cpu)
{
	const char *rule = getenv("BPF_SHIM");
	int refused, error;

	return rule && sscanf(rule, "clock %d %d", &refused, &error) == 2 && cpu == refused &&
			       attr->type == PERF_TYPE_SOFTWARE &&
			       attr->config == PERF_COUNT_SW_CPU_CLOCK
		       ? error
		       : 0;
}

long syscall(long number, ...)
{
	long a[6];
	va_list list;
	int error;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	error = number == SYS_bpf		? refusal(a[0], (const union bpf_attr *)a[1])
		: number == SYS_perf_event_open ? clock_refusal((const void *)a[0], (int)a[2])
						: 0;
	if (error) {
		errno = error;
		return -1;
	}
	return next_call()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
