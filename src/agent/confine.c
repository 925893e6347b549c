#include "agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/unwind_format.h"

/*
 * CAP_BPF and CAP_PERFMON: maps, iterators, changes of the rate. CAP_SYS_PTRACE,
 * CAP_CHECKPOINT_RESTORE: /proc/PID/maps, map_files and root of others. CAP_DAC_READ_SEARCH: files
 * of others. CAP_SYSLOG: addresses in /proc/kallsyms.
 */
#define BIT(capability) (1ull << (capability))
#define KEPT                                                                                \
	(BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | \
	 BIT(CAP_SYSLOG) | BIT(CAP_CHECKPOINT_RESTORE))

/*
 * A list of what is forbidden, not of what is allowed: the exporter is libcurl with whatever
 * resolver and TLS library the system has, and which calls they make changes with every version of
 * the C library. A forgotten call in a list of what is allowed would end the agent on somebody's
 * machine; these are calls no version of them makes.
 */
static const unsigned forbidden[] = {
/* Touching other processes: the agent looks, it never stops or changes anybody. */
#ifndef __SANITIZE_ADDRESS__ /* whose leak checker looks at the program's own threads with it */
	SYS_ptrace,
#endif
	SYS_process_vm_writev,
	SYS_process_madvise,
	/* Becoming another program, or another user. */
	SYS_execve,
	SYS_execveat,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_setfsuid,
	SYS_setfsgid,
	/* Changing the machine. */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsmount,
	SYS_mount_setattr,
	SYS_setns,
	SYS_unshare,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_mknod,
	SYS_mknodat,
	/* Keys and memory of the kernel. */
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_userfaultfd,
	SYS_io_uring_setup,
#ifdef SYS_iopl
	SYS_iopl,
	SYS_ioperm,
#endif
};

#define FORBIDDEN (sizeof(forbidden) / sizeof(forbidden[0]))

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#define FIRST_X32 0x40000000u
#elif defined(__aarch64__)
#define ARCH_HERE AUDIT_ARCH_AARCH64
#endif

static enum err failed(struct fault *fault, const char *what)
{
	return fault_set(fault, err_from_errno(errno), "%s cannot be given away: %s", what,
			 strerror(errno));
}

static enum err keep_capabilities(struct fault *fault)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return failed(fault, "capabilities");
	/* The bounding set first: dropping from it is itself a right. Whoever lacks it has, by
	 * no_new_privs, no way to make use of the rest. */
	for (unsigned i = 0; i <= 63; i++)
		if (!(KEPT >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, i, 0, 0, 0) && errno != EPERM)
			return failed(fault, "capabilities");
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (__u32)(KEPT >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, data) ? failed(fault, "capabilities") : ERR_OK;
}

/* The thread sanitizer starts threads of its own, whenever it likes. */
#ifdef __SANITIZE_THREAD__
#define FILTERED false
#else
#define FILTERED true
#endif

/*
 * What a reader of files calls: its socket, its memory, files to be read. Everything else fails
 * with EPERM, so that a call that a newer C library makes in vain does not end it.
 */
static const unsigned reading[] = {
	SYS_read,
	SYS_pread64,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_poll,
	SYS_ppoll,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_lseek,
	SYS_fadvise64,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_alarm,
	SYS_clock_gettime,
	SYS_getrandom,
	SYS_sched_yield,
	SYS_getpid,
	SYS_gettid,
	SYS_restart_syscall,
	SYS_clock_nanosleep,
#ifdef __SANITIZE_ADDRESS__ /* tells what it found, and looks where */
	SYS_write,
	SYS_sigaltstack,
	SYS_prctl,
	SYS_readlink,
	SYS_mprotect,
	SYS_rt_sigaction,
	SYS_tgkill,
#endif
};

#define READING	 (sizeof(reading) / sizeof(reading[0]))
#define CODE_MAX (2 * FORBIDDEN + 2 * READING + 32)

struct filter {
	struct sock_filter code[CODE_MAX];
	unsigned n;
};

static void put(struct filter *f, unsigned code, u32 value, u8 yes, u8 no)
{
	f->code[f->n++] = (struct sock_filter){(__u16)code, yes, no, value};
}

static void load(struct filter *f, size_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, (u32)offset, 0, 0);
}

static void answer(struct filter *f, bool allow)
{
	put(f, BPF_RET | BPF_K, allow ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* Another architecture's numbers are refused; then the call's number is there to be compared. */
static void begin(struct filter *f)
{
	load(f, offsetof(struct seccomp_data, arch));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0);
	answer(f, false);
	load(f, offsetof(struct seccomp_data, nr));
#ifdef FIRST_X32
	put(f, BPF_JMP | BPF_JGE | BPF_K, FIRST_X32, 0, 1);
	answer(f, false);
#endif
}

static void list(struct filter *f, const unsigned *calls, size_t n, bool allow)
{
	for (size_t i = 0; i < n; i++) {
		put(f, BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		answer(f, allow);
	}
}

static enum err install(struct filter *f, struct fault *fault)
{
	struct sock_fprog program = {.filter = f->code, .len = (unsigned short)f->n};

	/* All threads at once: libraries may have started some. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return ERR_OK;
	/* A kernel without seccomp is no reason not to run. */
	return errno == ENOSYS || errno == EINVAL ? ERR_OK : failed(fault, "system calls");
}

static enum err forbid_calls(struct fault *fault)
{
	struct filter f = {.n = 0};

	begin(&f);
	list(&f, forbidden, FORBIDDEN, false);
	answer(&f, true);
	return install(&f, fault);
}

/* Files are opened to be read, never to be written or made. */
static void allow_reading_open(struct filter *f)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4);
	load(f, offsetof(struct seccomp_data, args[2]));
	put(f, BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0, 1);
	answer(f, false);
	answer(f, true);
}

enum err confine_reader(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	struct filter f = {.n = 0};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none))
		return failed(NULL, "capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed(NULL, "new rights");
	begin(&f);
	list(&f, reading, READING, true);
	allow_reading_open(&f);
	answer(&f, false);
	return FILTERED ? install(&f, NULL) : ERR_OK;
}

enum err confine_self(struct fault *fault)
{
	TRY(keep_capabilities(fault));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed(fault, "new rights");
	return forbid_calls(fault);
}
