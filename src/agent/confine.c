#include "agent/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Another architecture's numbers, then the list; what is forbidden fails with EPERM. */
static enum err forbid_calls(struct fault *fault)
{
	struct sock_filter code[2 * FORBIDDEN + 16];
	unsigned n = 0;
	struct sock_fprog program = {.filter = code};

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
#ifdef FIRST_X32
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_X32, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
#endif
	for (size_t i = 0; i < FORBIDDEN; i++) {
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	/* All threads at once: libraries may have started some. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return ERR_OK;
	/* A kernel without seccomp is no reason not to run. */
	return errno == ENOSYS || errno == EINVAL ? ERR_OK : failed(fault, "system calls");
}

enum err confine_self(struct fault *fault)
{
	TRY(keep_capabilities(fault));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed(fault, "new rights");
	return forbid_calls(fault);
}
