#include "server/server_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/landlock.h"
#include "base/seccomp.h"

#define USUAL_USER "vestal"

/* ------------------------------------------------------------------ files */

/* The folder that a file is in; "." when its name says none. */
static char *folder_of(const char *path)
{
	size_t slash = str_rfind(str_of(path), '/');

	if (!path[slash])
		return mem_strdup(".");
	return mem_strndup(path, slash ? slash : 1);
}

/* "/proc/self/fd/7/name" works without access to the parent folders. */
static enum err keep(struct server_user *u, const char *folder, const char *name, const char **path)
{
	char *text;
	int fd;

	if (u->kept_count == SERVER_KEPT_PATHS)
		return ERR_TABLE_FULL;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ERR_OK; /* errors are reported when it is used */
	text = mem_alloc(40 + strlen(name));
	if (!text) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	snprintf(text, 40 + strlen(name), "/proc/self/fd/%d%s%s", fd, name[0] ? "/" : "", name);
	u->kept[u->kept_count].path = text;
	u->kept[u->kept_count].given = mem_strdup(*path);
	if (!u->kept[u->kept_count].given) {
		mem_free(text);
		close(fd);
		return ERR_NO_MEMORY;
	}
	u->kept_count++;
	*path = text;
	return ERR_OK;
}

static enum err reach_folder(struct server_user *u, const char **path)
{
	return !*path || privilege_reaches(&u->user, *path) ? ERR_OK : keep(u, *path, "", path);
}

static enum err reach_file(struct server_user *u, const char **path)
{
	char *folder = *path ? folder_of(*path) : NULL;
	size_t slash = *path ? str_rfind(str_of(*path), '/') : 0;
	enum err e = ERR_OK;

	if (*path && !folder)
		return ERR_NO_MEMORY;
	if (folder && !privilege_reaches(&u->user, folder))
		e = keep(u, folder, (*path)[slash] ? *path + slash + 1 : *path, path);
	mem_free(folder);
	return e;
}

enum err server_user_reach(struct server_user *u, const char **path)
{
	if (!u->confine || !*path)
		return ERR_OK;
	for (size_t i = 0; i < u->kept_count; i++)
		if (!strcmp(u->kept[i].given, *path)) {
			*path = u->kept[i].path;
			return ERR_OK;
		}
	if (u->become)
		return ERR_OK;
	if (u->folder_count < SERVER_KEPT_PATHS) {
		u->folders[u->folder_count] = folder_of(*path);
		if (!u->folders[u->folder_count++])
			return ERR_NO_MEMORY;
	}
	return u->change ? reach_file(u, path) : ERR_OK;
}

static enum err make_folder(const char *path, struct fault *fault)
{
	int os_error;

	if (!path || !mkdir(path, 0700) || errno == EEXIST)
		return ERR_OK;
	os_error = errno;
	return fault_set(fault, err_from_errno(os_error), "%s: cannot be created: %s", path,
			 strerror(os_error));
}

/* Whether a folder is a store, or empty: never hand over a home directory. */
static bool is_ours_to_give(const char *path)
{
	char name[4096];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s/STORE", path) >= (int)sizeof(name))
		return false;
	if (!lstat(name, &st))
		return S_ISREG(st.st_mode);
	return privilege_folder_has_only(path, (const char *const[]){"LOCK", "tokens", "audit.log",
								     "lost+found", NULL});
}

static enum err hand_over(struct server_user *u, const struct server_options *o,
			  struct fault *fault)
{
	const char *data = o->store.directory;

	if (data && !is_ours_to_give(data))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%s is not a store and not empty: name another directory", data);
	if (data)
		TRY(privilege_hand_over(data, &u->user, fault));
	if (o->backup_directory &&
	    privilege_folder_has_only(o->backup_directory, (const char *const[]){NULL}))
		TRY(privilege_hand_over(o->backup_directory, &u->user, fault));
	return o->token_file ? privilege_hand_over_file(o->token_file, &u->user, fault) : ERR_OK;
}

static enum err reach_all(struct server_user *u, struct server_options *o)
{
	TRY(reach_folder(u, &o->store.directory));
	TRY(reach_folder(u, &o->backup_directory));
	TRY(reach_file(u, &o->token_file));
	TRY(reach_file(u, &o->config_file));
	TRY(reach_file(u, &o->http.tls.certificate));
	TRY(reach_file(u, &o->http.tls.key));
	return reach_file(u, &o->http.tls.client_ca);
}

/* The list is the caller's: it gets one of its own. */
static enum err reach_sources(struct server_user *u, struct server_options *o)
{
	if (!o->source_root_count)
		return ERR_OK;
	u->source_roots = mem_zalloc(o->source_root_count, sizeof(*u->source_roots));
	if (!u->source_roots)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < o->source_root_count; i++) {
		u->source_roots[i] = o->source_roots[i];
		TRY(reach_folder(u, &u->source_roots[i]));
	}
	o->source_roots = u->source_roots;
	return ERR_OK;
}

enum err server_user_prepare(struct server_user *u, struct server_options *o, struct fault *fault)
{
	u->confine = o->confine;
	if (!u->confine)
		return ERR_OK;
	TRY(make_folder(o->store.directory, fault));
	TRY(make_folder(o->backup_directory, fault));
	if (geteuid())
		return ERR_OK;
	TRY(privilege_find_user(o->user, USUAL_USER, PRIVILEGE_SERVER_UID, &u->user, fault));
	u->change = u->user.uid && (o->user || privilege_may_become(&u->user));
	if (!u->change)
		return ERR_OK;
	TRY(hand_over(u, o, fault));
	TRY(reach_sources(u, o));
	return reach_all(u, o);
}

/* ------------------------------------------------------------------ Landlock */

/* Libraries loaded on demand, name resolution, certificates, and the kernel's files about CPUs and
 * memory. */
static const char *const system_folders[] = {"/usr", "/lib",  "/lib32", "/lib64", "/etc", "/opt",
					     "/nix", "/proc", "/sys",	"/run",	  "/dev"};
#define SYSTEM_FOLDERS (sizeof(system_folders) / sizeof(system_folders[0]))
#define PATHS_MAX      (SYSTEM_FOLDERS + 96)

struct path_list {
	struct landlock_path v[PATHS_MAX];
	char *made[PATHS_MAX];
	unsigned n;
};

static void add(struct path_list *l, const char *path, bool write)
{
	if (path && l->n < PATHS_MAX)
		l->v[l->n++] = (struct landlock_path){path, write};
}

/* The folder of a file: it is renamed over when it changes. */
static void add_folder_of(struct path_list *l, const char *path)
{
	if (!path || l->n == PATHS_MAX)
		return;
	l->made[l->n] = folder_of(path);
	add(l, l->made[l->n], false);
}

static enum err only_own_files(const struct server_user *u, const struct server_options *o,
			       struct fault *fault)
{
	struct path_list l = {0};
	char program[4096] = "";
	enum err e;

	for (size_t i = 0; i < SYSTEM_FOLDERS; i++)
		add(&l, system_folders[i], false);
	add(&l, "/dev/null", true);
	add(&l, o->store.directory, true);
	add(&l, o->backup_directory, true);
	add_folder_of(&l, o->token_file);
	add_folder_of(&l, o->config_file);
	add_folder_of(&l, o->http.tls.certificate);
	add_folder_of(&l, o->http.tls.key);
	add_folder_of(&l, o->http.tls.client_ca);
	for (size_t i = 0; i < o->source_root_count; i++)
		add(&l, o->source_roots[i], false);
	for (size_t i = 0; i < u->folder_count; i++)
		add(&l, u->folders[i], false);
	/* --self-profile reads names from it. */
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
		add(&l, program, false);
	e = landlock_only(l.v, l.n, fault);
	for (unsigned i = 0; i < PATHS_MAX; i++)
		mem_free(l.made[i]);
	return e;
}

/* ------------------------------------------------------------------ system calls */

static const unsigned forbidden[] = {
#ifndef __SANITIZE_ADDRESS__ /* whose leak checker ptraces the program's own threads */
	SYS_ptrace,
#endif
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_kcmp,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_fanotify_init,
	SYS_lookup_dcookie,
	SYS_personality,
	SYS_vhangup,
	SYS_chown,
	SYS_lchown,
	SYS_symlink,
	SYS_symlinkat,
};

#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

static enum err forbid_calls(struct fault *fault)
{
	static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	struct seccomp_filter f;

	seccomp_begin(&f);
	seccomp_forbid_usual(&f);
	seccomp_list(&f, forbidden, sizeof(forbidden) / sizeof(forbidden[0]), false);
	/* Its flags lie in memory, where no filter looks; the C library then takes clone. */
	seccomp_hide(&f, SYS_clone3);
	seccomp_by_flags(&f, SYS_clone, 0, NEW_NAMESPACES);
	seccomp_by_value(&f, SYS_socket, 0, families, sizeof(families) / sizeof(families[0]));
	return seccomp_install(&f, true, fault);
}

/* ------------------------------------------------------------------ the change */

static enum err change(struct server_user *u, const struct server_options *o, struct fault *fault)
{
	/* Files created from here on have no access for others. */
	umask(077);
	if (u->change)
		TRY(privilege_become(&u->user, 0, fault));
	else
		TRY(privilege_keep(0, fault));
	TRY(only_own_files(u, o, fault));
	return forbid_calls(fault);
}

enum err server_user_become(struct server_user *u, const struct server_options *o,
			    struct fault *fault)
{
	if (!u->confine)
		return ERR_OK;
	u->become = true;
	return change(u, o, fault);
}

void server_user_name_paths(const struct server_user *u, struct fault *fault)
{
	for (size_t i = 0; fault && i < u->kept_count; i++) {
		struct str text = str_of(fault->text), path = str_of(u->kept[i].path);
		size_t at = str_search(text, path);
		struct fault named = *fault;

		if (at == text.n)
			continue;
		snprintf(named.text, sizeof(named.text), "%.*s%s%s", (int)at, text.p,
			 u->kept[i].given, text.p + at + path.n);
		*fault = named;
	}
}

void server_user_release(struct server_user *u)
{
	for (size_t i = 0; i < u->kept_count; i++) {
		mem_free(u->kept[i].path);
		mem_free(u->kept[i].given);
	}
	u->kept_count = 0;
	for (size_t i = 0; i < u->folder_count; i++)
		mem_free(u->folders[i]);
	u->folder_count = 0;
	mem_free(u->source_roots);
	u->source_roots = NULL;
}
