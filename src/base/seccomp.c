#include "base/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#define FIRST_X32 0x40000000u
#elif defined(__aarch64__)
#define ARCH_HERE AUDIT_ARCH_AARCH64
#endif

_Static_assert(sizeof(struct seccomp_code) == sizeof(struct sock_filter),
	       "the kernel's own layout");

static void put(struct seccomp_filter *f, unsigned code, uint32_t value, uint8_t yes, uint8_t no)
{
	if (f->n < SECCOMP_CODE_MAX)
		f->code[f->n++] = (struct seccomp_code){(uint16_t)code, yes, no, value};
}

static void load(struct seccomp_filter *f, size_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct seccomp_filter *f, bool allow)
{
	put(f, BPF_RET | BPF_K, allow ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* The lower half; all supported machines are little-endian. */
static void load_argument(struct seccomp_filter *f, unsigned argument)
{
	load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
}

/* Another architecture's numbers are refused; then the call's number is there to be compared. */
void seccomp_begin(struct seccomp_filter *f)
{
	f->n = 0;
	load(f, offsetof(struct seccomp_data, arch));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0);
	answer(f, false);
	load(f, offsetof(struct seccomp_data, nr));
#ifdef FIRST_X32
	put(f, BPF_JMP | BPF_JGE | BPF_K, FIRST_X32, 0, 1);
	answer(f, false);
#endif
}

void seccomp_list(struct seccomp_filter *f, const unsigned *calls, size_t n, bool allow)
{
	for (size_t i = 0; i < n; i++) {
		put(f, BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		answer(f, allow);
	}
}

void seccomp_by_flags(struct seccomp_filter *f, unsigned call, unsigned argument,
		      uint32_t forbidden)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
	load_argument(f, argument);
	put(f, BPF_JMP | BPF_JSET | BPF_K, forbidden, 0, 1);
	answer(f, false);
	answer(f, true);
}

void seccomp_by_value(struct seccomp_filter *f, unsigned call, unsigned argument,
		      const uint32_t *values, size_t n)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, (uint8_t)(2 + 2 * n));
	load_argument(f, argument);
	for (size_t i = 0; i < n; i++) {
		put(f, BPF_JMP | BPF_JEQ | BPF_K, values[i], 0, 1);
		answer(f, true);
	}
	answer(f, false);
}

void seccomp_hide(struct seccomp_filter *f, unsigned call)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
	put(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

enum err seccomp_install(struct seccomp_filter *f, bool allow_rest, struct fault *fault)
{
	struct sock_filter code[SECCOMP_CODE_MAX];
	struct sock_fprog program = {.filter = code};

	answer(f, allow_rest);
	if (f->n >= SECCOMP_CODE_MAX)
		return fault_set(fault, ERR_INTERNAL, "the filter of system calls is too long");
	memcpy(code, f->code, f->n * sizeof(*code));
	program.len = (unsigned short)f->n;
	/* All threads at once: libraries may have started some. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return ERR_OK;
	/* Continue on a kernel without seccomp. */
	if (errno == ENOSYS || errno == EINVAL)
		return ERR_OK;
	return fault_set(fault, err_from_errno(errno),
			 "the system call filter cannot be installed: %s", strerror(errno));
}

static const unsigned usual[] = {
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

void seccomp_forbid_usual(struct seccomp_filter *f)
{
	seccomp_list(f, usual, sizeof(usual) / sizeof(usual[0]), false);
}
