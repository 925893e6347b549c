/*
 * The privileges of each running process of Vestal, as reported by the kernel: user, capabilities,
 * seccomp filter, and file access.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/doctor.h"
#include "base/landlock.h"
#include "base/privilege.h"

#define LOOKED_AT_MAX 4096

struct held {
	unsigned pid;
	uint64_t uid, capabilities, no_new_privs, seccomp;
	bool landlock, read_only;
	char role[40];
};

static struct str read_of(unsigned pid, const char *name, char *room, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, room, size);
	if (fd >= 0)
		close(fd);
	return str_n(room, n > 0 ? (size_t)n : 0);
}

/* The same program as this one, or one of its name. */
static bool is_ours(unsigned pid)
{
	char path[64], target[4096];
	struct stat own, its;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	if (!stat("/proc/self/exe", &own) && !stat(path, &its) && own.st_dev == its.st_dev &&
	    own.st_ino == its.st_ino)
		return true;
	n = readlink(path, target, sizeof(target));
	return n > 0 && str_ends(str_n(target, (size_t)n), STR("/vestal"));
}

/* "up", "vestal-names"; false for commands that come and go. */
static bool find_role(struct held *h)
{
	static const char *const lasting[] = {"up", "server", "agent", "record", "live"};
	char room[512];
	struct str text = str_trim(read_of(h->pid, "comm", room, sizeof(room))), word;

	if (str_starts(text, STR("vestal-"))) {
		snprintf(h->role, sizeof(h->role), "%.*s", (int)text.n, text.p);
		return true;
	}
	text = read_of(h->pid, "cmdline", room, sizeof(room));
	if (!str_split(&text, '\0', &word) || !str_split(&text, '\0', &word))
		return false;
	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		if (str_eq(word, str_of(lasting[i]))) {
			snprintf(h->role, sizeof(h->role), "vestal %s", lasting[i]);
			return true;
		}
	return false;
}

static void read_status(struct held *h)
{
	char room[8192];
	struct str text = read_of(h->pid, "status", room, sizeof(room)), line, value;
	struct {
		struct str key;
		int base;
		uint64_t *to;
	} fields[] = {{STR("Uid:"), 10, &h->uid},
		      {STR("CapPrm:"), 16, &h->capabilities},
		      {STR("NoNewPrivs:"), 10, &h->no_new_privs},
		      {STR("Seccomp:"), 10, &h->seccomp}};

	while (str_split(&text, '\n', &line))
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (str_starts(line, fields[i].key)) {
				value = str_trim(str_skip(line, fields[i].key.n));
				value.n = str_find(value, '\t');
				if (str_to_u64(value, fields[i].base, fields[i].to) != ERR_OK)
					*fields[i].to = 0;
			}
}

/* A confined process keeps the descriptor of its Landlock rules open (landlock.h). */
static bool holds_rules(unsigned pid)
{
	char path[64], target[200];
	bool found = false;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		struct str text = str_n(target, n > 0 ? (size_t)n : 0);

		found = str_search(text, STR(LANDLOCK_LINK)) < text.n;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The mount that is "/" there. */
static bool sees_read_only(unsigned pid)
{
	char room[32768];
	struct str text = read_of(pid, "mountinfo", room, sizeof(room)), line, field;

	while (str_split(&text, '\n', &line)) {
		for (int i = 0; i < 5; i++)
			if (!str_split(&line, ' ', &field))
				return false;
		if (str_eq(field, STR("/")))
			return str_starts(line, STR("ro,")) || str_starts(line, STR("ro "));
	}
	return false;
}

static enum err put(struct findings *f, const struct held *h)
{
	char text[240], names[120];
	bool plain = h->uid && h->no_new_privs && h->seccomp;

	privilege_names(h->capabilities, names, sizeof(names));
	snprintf(text, sizeof(text), "%s (%u): user %llu, capabilities %s%s%s%s%s", h->role, h->pid,
		 (unsigned long long)h->uid, names, h->no_new_privs ? ", no_new_privs" : "",
		 h->seccomp ? ", seccomp" : "", h->landlock ? ", Landlock" : "",
		 h->read_only ? ", files read-only" : "");
	return finding_add(f, "process", plain ? FINDING_OK : FINDING_NOTE, text, NULL);
}

static enum err look_at(struct findings *f, unsigned pid)
{
	struct held h = {.pid = pid};

	if (!is_ours(pid) || pid == (unsigned)getpid() || !find_role(&h))
		return ERR_OK;
	read_status(&h);
	h.landlock = holds_rules(pid);
	h.read_only = sees_read_only(pid);
	return put(f, &h);
}

enum err doctor_processes(struct findings *f)
{
	DIR *processes = opendir("/proc");
	enum err e = ERR_OK;
	struct dirent *entry;
	size_t before = f->list.n;
	uint64_t pid;

	while (processes && !e && (entry = readdir(processes)))
		if (str_to_u64(str_of(entry->d_name), 10, &pid) == ERR_OK &&
		    f->list.n - before < LOOKED_AT_MAX)
			e = look_at(f, (unsigned)pid);
	if (processes)
		closedir(processes);
	return e;
}
