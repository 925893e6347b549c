#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

static enum err failed(struct fault *fault, const char *what)
{
	return fault_set(fault, err_from_errno(errno), "%s cannot be dropped: %s", what,
			 strerror(errno));
}

/* ------------------------------------------------------------------ users */

static bool find_by_name(const char *name, struct privilege_user *ret)
{
	struct passwd entry, *found = NULL;
	char room[4096];

	if (getpwnam_r(name, &entry, room, sizeof(room), &found) || !found)
		return false;
	*ret = (struct privilege_user){.uid = found->pw_uid, .gid = found->pw_gid};
	snprintf(ret->name, sizeof(ret->name), "%.63s", name);
	return true;
}

static void take_number(uint32_t number, struct privilege_user *ret)
{
	*ret = (struct privilege_user){.uid = number, .gid = number};
	snprintf(ret->name, sizeof(ret->name), "%u", number);
}

enum err privilege_find_user(const char *wanted, const char *usual, uint32_t fallback,
			     struct privilege_user *ret, struct fault *fault)
{
	uint64_t number;

	if (!wanted) {
		if (!find_by_name(usual, ret))
			take_number(fallback, ret);
		return ERR_OK;
	}
	if (find_by_name(wanted, ret))
		return ERR_OK;
	if (str_to_u64(str_of(wanted), 10, &number) != ERR_OK || number >= UINT32_MAX)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "there is no user %.60s on this system: give a name or a number",
				 wanted);
	take_number((uint32_t)number, ret);
	return ERR_OK;
}

bool privilege_reaches(const struct privilege_user *u, const char *folder)
{
	bool reaches;

	if (geteuid() || !u->uid)
		return !access(folder, X_OK);
	if (setegid(u->gid))
		return false;
	/* Effective capabilities go with the uid, and come back with it. */
	reaches = !seteuid(u->uid) && !eaccess(folder, X_OK);
	return (!seteuid(0) && !setegid(0)) && reaches;
}

/* ------------------------------------------------------------------ capabilities */

static bool get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return !syscall(SYS_capget, &head, data);
}

static bool set(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return !syscall(SYS_capset, &head, data);
}

bool privilege_has(uint64_t capabilities)
{
	struct __user_cap_data_struct data[2];

	return get(data) &&
	       !(capabilities & ~((uint64_t)data[1].effective << 32 | data[0].effective));
}

enum err privilege_keep(uint64_t capabilities, struct fault *fault)
{
	struct __user_cap_data_struct data[2];

	if (!get(data))
		return failed(fault, "capabilities");
	/* The bounding set first: dropping from it is itself a capability. Without that capability,
	 * no_new_privs makes the rest of the set useless. */
	for (unsigned i = 0; i <= 63; i++)
		if (!(capabilities >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, i, 0, 0, 0) && errno != EPERM)
			return failed(fault, "capabilities");
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (__u32)(capabilities >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!set(data))
		return failed(fault, "capabilities");
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? failed(fault, "new privileges") : ERR_OK;
}

bool privilege_may_become(const struct privilege_user *u)
{
	if (!privilege_has(1ull << CAP_SETUID | 1ull << CAP_SETGID) || setegid(u->gid))
		return false;
	return (!setegid(0) && !seteuid(u->uid)) && !seteuid(0);
}

enum err privilege_become(const struct privilege_user *u, uint64_t capabilities,
			  struct fault *fault)
{
	uint64_t own = 1ull << CAP_SETPCAP | capabilities;
	struct __user_cap_data_struct data[2];

	/* Permitted ones stay when the uid changes; effective ones are taken up again. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return failed(fault, "the uid");
	if (setgroups(0, NULL) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return failed(fault, "the uid");
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	/* Makes /proc/self accessible again. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (!get(data))
		return failed(fault, "capabilities");
	for (unsigned i = 0; i < 2; i++)
		data[i].effective = data[i].permitted & (__u32)(own >> (32 * i));
	if (!set(data))
		return failed(fault, "capabilities");
	return privilege_keep(capabilities, fault);
}

const char *privilege_names(uint64_t capabilities, char *room, size_t size)
{
	static const char *const names[] = {"chown",
					    "dac_override",
					    "dac_read_search",
					    "fowner",
					    "fsetid",
					    "kill",
					    "setgid",
					    "setuid",
					    "setpcap",
					    "linux_immutable",
					    "net_bind_service",
					    "net_broadcast",
					    "net_admin",
					    "net_raw",
					    "ipc_lock",
					    "ipc_owner",
					    "sys_module",
					    "sys_rawio",
					    "sys_chroot",
					    "sys_ptrace",
					    "sys_pacct",
					    "sys_admin",
					    "sys_boot",
					    "sys_nice",
					    "sys_resource",
					    "sys_time",
					    "sys_tty_config",
					    "mknod",
					    "lease",
					    "audit_write",
					    "audit_control",
					    "setfcap",
					    "mac_override",
					    "mac_admin",
					    "syslog",
					    "wake_alarm",
					    "block_suspend",
					    "audit_read",
					    "perfmon",
					    "bpf",
					    "checkpoint_restore"};
	static const size_t count = sizeof(names) / sizeof(names[0]);
	size_t n = 0, held = (size_t)__builtin_popcountll(capabilities);

	/* A container may lack one; a list would be of little use. */
	snprintf(room, size, "%s", !held ? "none" : held < count ? "nearly all" : "all");
	if (held + 4 >= count)
		return room;
	for (size_t i = 0; i < count && n < size; i++)
		if (capabilities >> i & 1)
			n += (size_t)snprintf(room + n, size - n, "%s%s", n ? ", " : "", names[i]);
	return room;
}
