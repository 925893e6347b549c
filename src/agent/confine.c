#include "agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "base/seccomp.h"
#include "unwind/unwind_format.h"

#define USUAL_USER "vestal-agent"

/*
 * CAP_BPF and CAP_PERFMON: maps, iterators, changes of the rate. CAP_SYS_PTRACE,
 * CAP_CHECKPOINT_RESTORE: /proc/PID/maps, map_files and root of others. CAP_DAC_READ_SEARCH: files
 * of others. CAP_SYSLOG: addresses in /proc/kallsyms.
 */
#define BIT(capability) (1ull << (capability))
#define MAY_MEASURE	(BIT(CAP_BPF) | BIT(CAP_PERFMON))
#define KEPT                                                                              \
	(MAY_MEASURE | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYSLOG) | \
	 BIT(CAP_CHECKPOINT_RESTORE))

/*
 * A deny list, not an allow list: the exporter uses libcurl with the system's resolver and TLS
 * library, whose system calls depend on their versions and on the C library. A call missing in an
 * allow list would break the agent; the calls here are used by none of them.
 */
static const unsigned forbidden[] = {
/* Access to other processes: the agent only reads, it never stops or changes a process. */
#ifndef __SANITIZE_ADDRESS__ /* whose leak checker ptraces the program's own threads */
	SYS_ptrace,
#endif
	SYS_process_vm_writev,
	SYS_process_madvise,
};

static enum err failed(struct fault *fault, const char *what)
{
	return fault_set(fault, err_from_errno(errno), "%s cannot be dropped: %s", what,
			 strerror(errno));
}

static enum err forbid_calls(struct fault *fault)
{
	struct seccomp_filter f;

	seccomp_begin(&f);
	seccomp_forbid_usual(&f);
	seccomp_list(&f, forbidden, sizeof(forbidden) / sizeof(forbidden[0]), false);
	return seccomp_install(&f, true, fault);
}

/* ------------------------------------------------------------------ files */

/* Makes what is missing of the path. */
static bool make_path(const char *path)
{
	char part[4096];
	size_t n = strlen(path);

	if (!n || n >= sizeof(part))
		return false;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0700) && errno != EEXIST && errno != EISDIR)
			return false;
	}
	return true;
}

/* A folder with other files keeps its owner; opening a file in it then fails with a message. */
static void hand_over(const struct confine_options *o, const struct privilege_user *u)
{
	static const char *const own[] = {"*.entry", "*.new",	   "*.debug", "*.exec",
					  "*.sock",  "*.incoming", NULL};

	for (size_t i = 0; i < CONFINE_FOLDERS; i++) {
		const char *folder = o->folders[i];
		struct fault fault = {0};

		if (folder && make_path(folder) && privilege_folder_has_only(folder, own) &&
		    privilege_hand_over(folder, u, &fault) != ERR_OK)
			log_warn("a folder is not handed over", log_text("reason", fault.text));
	}
}

static bool set_read_only(const char *path, unsigned flags, bool read_only)
{
	struct mount_attr attr = {.attr_set = read_only ? MOUNT_ATTR_RDONLY : 0,
				  .attr_clr = read_only ? 0 : MOUNT_ATTR_RDONLY};

	return !mount_setattr(AT_FDCWD, path, flags, &attr, sizeof(attr));
}

/*
 * Landlock is not for this process: it would forbid to look at any other one (ptrace_may_access),
 * which is what the agent is for. Instead it sees a file system of which nothing is writable but
 * its own folders. Mounts of the host still come and go. A container may not do this, and has done
 * it already.
 */
static bool see_files_read_only(const struct confine_options *o)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return false;
	for (size_t i = 0; i < CONFINE_FOLDERS; i++)
		if (o->folders[i] && !access(o->folders[i], F_OK) &&
		    mount(o->folders[i], o->folders[i], NULL, MS_BIND, NULL))
			return false;
	if (!set_read_only("/", AT_RECURSIVE, true))
		return false;
	for (size_t i = 0; i < CONFINE_FOLDERS; i++)
		if (o->folders[i] && !access(o->folders[i], F_OK) &&
		    !set_read_only(o->folders[i], 0, false))
			return false;
	return true;
}

/* ------------------------------------------------------------------ the agent */

static u32 began_as = UINT32_MAX;

u32 confine_first_uid(void)
{
	return began_as == UINT32_MAX ? geteuid() : began_as;
}

/*
 * Stay root if root may not use BPF, because then only root's own processes can be profiled; and in
 * a container without other uids. The capabilities are dropped all the same.
 */
static enum err change_user(const struct confine_options *o, struct fault *fault)
{
	struct privilege_user u;

	if (!privilege_has(MAY_MEASURE))
		return privilege_keep(KEPT, fault);
	TRY(privilege_find_user(NULL, USUAL_USER, PRIVILEGE_AGENT_UID, &u, fault));
	if (!privilege_may_become(&u)) {
		log_info("the agent stays root: it cannot become another user",
			 log_text("needs", "CAP_SETUID, CAP_SETGID"), log_text("user", u.name));
		return privilege_keep(KEPT, fault);
	}
	hand_over(o, &u);
	if (!see_files_read_only(o))
		log_debug("the agent's file system stays writable",
			  log_text("reason", strerror(errno)));
	return privilege_become(&u, KEPT, fault);
}

enum err confine_self(const struct confine_options *o, struct fault *fault)
{
	if (began_as == UINT32_MAX)
		began_as = geteuid();
	umask(077);
	if (geteuid())
		TRY(privilege_keep(KEPT, fault));
	else
		TRY(change_user(o, fault));
	return forbid_calls(fault);
}

/* ------------------------------------------------------------------ readers of files */

/* The thread sanitizer starts threads of its own, whenever it likes. */
#ifdef __SANITIZE_THREAD__
#define FILTERED false
#else
#define FILTERED true
#endif

/*
 * System calls of a worker: socket, memory, reading files. All others fail with EPERM instead of
 * killing it, because a newer C library may try other calls.
 */
static const unsigned reading[] = {
	SYS_read,	SYS_pread64,	     SYS_recvfrom,
	SYS_recvmsg,	SYS_sendto,	     SYS_sendmsg,
	SYS_poll,	SYS_ppoll,	     SYS_close,
	SYS_fstat,	SYS_newfstatat,	     SYS_statx,
	SYS_lseek,	SYS_fadvise64,	     SYS_mmap,
	SYS_munmap,	SYS_mremap,	     SYS_madvise,
	SYS_brk,	SYS_futex,	     SYS_exit,
	SYS_exit_group, SYS_rt_sigreturn,    SYS_rt_sigprocmask,
	SYS_alarm,	SYS_timer_settime,   SYS_clock_gettime,
	SYS_getrandom,	SYS_sched_yield,     SYS_getpid,
	SYS_gettid,	SYS_restart_syscall, SYS_clock_nanosleep,
#ifdef __SANITIZE_ADDRESS__ /* tells what it found, and looks where */
	SYS_write,	SYS_sigaltstack,     SYS_prctl,
	SYS_readlink,	SYS_mprotect,	     SYS_rt_sigaction,
	SYS_tgkill,
#endif
};

#define READING (sizeof(reading) / sizeof(reading[0]))

enum err confine_reader(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	struct seccomp_filter f;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none))
		return failed(NULL, "capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed(NULL, "new privileges");
	seccomp_begin(&f);
	seccomp_list(&f, reading, READING, true);
	/* Files are opened to be read, never to be written or made. */
	seccomp_by_flags(&f, SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
	return FILTERED ? seccomp_install(&f, false, NULL) : ERR_OK;
}
