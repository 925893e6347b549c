#include "agent/doctor.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/capture.h"
#include "agent/own_events.h"
#include "base/file.h"

/* Enough lines to meet one with an address. */
#define KALLSYMS_BYTES 4096

void findings_release(struct findings *f)
{
	vec_release(&f->list);
}

static enum err add(struct findings *f, struct finding one)
{
	return vec_push(&f->list, one);
}

enum err finding_add(struct findings *f, const char *name, enum finding_state state,
		     const char *text, const char *fix)
{
	struct finding one = {.name = name, .state = state};

	snprintf(one.text, sizeof(one.text), "%s", text);
	snprintf(one.fix, sizeof(one.fix), "%s", fix ? fix : "");
	return add(f, one);
}

bool findings_well(const struct findings *f)
{
	vec_for_each (one, &f->list)
		if (one->state == FINDING_MISSING)
			return false;
	return true;
}

/* The beginning of a small file; empty when it cannot be read. */
static struct str read_begin(const char *path, char *room, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, room, size);

	if (fd >= 0)
		close(fd);
	return str_n(room, n > 0 ? (size_t)n : 0);
}

static uint64_t capabilities_held(void)
{
	char room[4096];
	struct str text = read_begin("/proc/self/status", room, sizeof(room)), line;
	uint64_t mask;

	while (str_split(&text, '\n', &line))
		if (str_starts(line, STR("CapEff:")) &&
		    str_to_u64(str_trim(str_skip(line, 7)), 16, &mask) == ERR_OK)
			return mask;
	return 0;
}

bool doctor_may_load(void)
{
	uint64_t held = capabilities_held(), both = 1ull << CAP_BPF | 1ull << CAP_PERFMON;

	return held >> CAP_SYS_ADMIN & 1 || (held & both) == both;
}

static enum err check_btf(struct findings *f)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return finding_add(f, "kernel types", FINDING_OK, "/sys/kernel/btf/vmlinux", NULL);
	return finding_add(f, "kernel types", FINDING_MISSING, "no /sys/kernel/btf/vmlinux",
			   "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions do");
}

static enum err check_ring(struct findings *f)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "vestal_doctor", 0, 0, 4096, NULL);

	if (fd < 0)
		return finding_add(f, "ring buffer", FINDING_MISSING, strerror(errno),
				   errno == EPERM ? "run as root, or with CAP_BPF"
						  : "use Linux 5.8 or newer");
	close(fd);
	return finding_add(f, "ring buffer", FINDING_OK, "can be made", NULL);
}

/* Obstacles other than missing privileges. */
static const char *refusal_fix(void)
{
	return doctor_may_load() ? "a container's seccomp profile or a security module refuses it: "
				   "docker run "
				   "--privileged …, or sudo journalctl -k | grep -i denied"
				 : "sudo vestal …, or give the program CAP_BPF and CAP_PERFMON";
}

/* A part of a type (mapped without faults) is not all of it. */
static enum err first_lack(const struct kernel_side *k, struct fault *ret)
{
	size_t n;
	const struct capture_lack *lacks = kernel_lacks(k, &n);

	if (!n)
		return ERR_OK;
	*ret = lacks[0].why;
	return ret->code;
}

/* Loads and attaches the programs for one kind of measurement, and takes them off again. */
static enum err check_programs(struct findings *f, const char *name, unsigned types,
			       const char *good, const char *hint)
{
	struct kernel_options o = capture_options_default.kernel;
	struct kernel_side *k = NULL;
	struct fault fault = {0};
	enum err e;

	o.types = types;
	o.rate_hz = 1;
	o.table_mib = 1;
	o.ring_kib = 64;
	e = kernel_open(&o, &k, &fault);
	if (!e)
		e = kernel_attach(k, &fault);
	if (!e)
		e = first_lack(k, &fault);
	kernel_close(k);
	if (e == ERR_NO_MEMORY)
		return e;
	if (!e)
		return finding_add(f, name, FINDING_OK, good, NULL);
	return finding_add(f, name, FINDING_MISSING, fault.text[0] ? fault.text : err_text(e),
			   e == ERR_NO_PERMISSION ? refusal_fix() : hint);
}

static enum err check_memlock(struct findings *f)
{
	struct rlimit limit;
	char text[120];

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return finding_add(f, "locked memory", FINDING_NOTE, "no limit", NULL);
	snprintf(text, sizeof(text), "limit of %llu KiB, which kernels from 5.11 on do not apply",
		 (unsigned long long)limit.rlim_cur / 1024);
	return finding_add(f, "locked memory", FINDING_NOTE, text, NULL);
}

/* What is possible without privileges: own processes, user space only. */
static enum err check_own(struct findings *f)
{
	struct fault fault = {0};

	if (own_events_allowed(&fault) != ERR_OK)
		return finding_add(f, "own processes", FINDING_NOTE, fault.text,
				   "sudo sysctl kernel.perf_event_paranoid=2");
	return finding_add(f, "own processes", FINDING_OK,
			   "record, live, agent and up can profile CPU time of your own "
			   "processes, even if all else is missing",
			   NULL);
}

static enum err check_symbols(struct findings *f)
{
	if (!access("/usr/lib/debug/.build-id", X_OK))
		return finding_add(f, "debug files", FINDING_NOTE,
				   "/usr/lib/debug has files of installed packages", NULL);
	return finding_add(f, "debug files", FINDING_NOTE,
			   "none in /usr/lib/debug: lines and inlined functions of the system's "
			   "libraries are not known, names of exported ones are",
			   "install the -dbgsym or -debuginfo packages of important programs");
}

enum err doctor_examine(struct findings *f)
{
	char room[KALLSYMS_BYTES];
	uint64_t held = capabilities_held();
	bool perfmon = held >> CAP_PERFMON & 1 || held >> CAP_SYS_ADMIN & 1;
	struct utsname name;

	if (uname(&name))
		return err_from_errno(errno);
	TRY(add(f, doctor_kernel(str_of(name.release))));
	TRY(add(f, doctor_capabilities(held)));
	TRY(add(f,
		doctor_lockdown(read_begin("/sys/kernel/security/lockdown", room, sizeof(room)))));
	TRY(check_btf(f));
	TRY(check_ring(f));
	TRY(check_programs(f, "CPU time", CAPTURE_CPU, "programs load and attach",
			   "vestal record shows details; use Linux 5.17 or newer with BTF"));
	TRY(check_programs(f, "waits", CAPTURE_WAITS,
			   kernel_sees_returns()
				   ? "stacks are taken when threads come back (sched_exit_tp)"
				   : "stacks are taken when threads leave (no sched_exit_tp): rare "
				     "long waits of threads that wait briefly are seen less often",
			   "use Linux 5.18 or newer with BTF; CPU time does not need it"));
	TRY(check_programs(f, "threads", CAPTURE_THREADS, "can be counted",
			   "use Linux 5.18 or newer; nothing else needs it"));
	TRY(check_programs(f, "memory growth", CAPTURE_FAULTS | CAPTURE_MAPPED,
			   "programs load and attach",
			   "use Linux 6.2 or newer; nothing else needs it"));
	TRY(check_programs(f, "event loops", CAPTURE_LOOPS, "programs load and attach",
			   "use Linux 5.18 or newer; nothing else needs it"));
	TRY(add(f, doctor_paranoid(read_begin("/proc/sys/kernel/perf_event_paranoid", room,
					      sizeof(room)),
				   perfmon)));
	TRY(check_own(f));
	TRY(add(f, doctor_kallsyms(read_begin("/proc/kallsyms", room, sizeof(room)))));
	TRY(check_memlock(f));
	TRY(check_symbols(f));
	return doctor_processes(f);
}
