#include "agent/own_scan.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static enum err scan(const char *directory, void *context,
		     enum err (*number)(void *context, u32 number))
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	enum err e = ERR_OK;
	u64 value;

	if (!d)
		return ERR_NOT_FOUND;
	while (!e && (entry = readdir(d)))
		if (str_to_u64(str_of(entry->d_name), 10, &value) == ERR_OK && value <= INT32_MAX)
			e = number(context, (u32)value);
	closedir(d);
	return e;
}

enum err scan_threads(u32 pid, void *context, enum err (*thread)(void *context, u32 tid))
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return scan(path, context, thread);
}

struct own_only {
	u32 uid;
	void *context;
	enum err (*process)(void *context, u32 pid);
};

static enum err if_own(void *context, u32 pid)
{
	const struct own_only *o = context;
	struct stat info;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &info) && info.st_uid == o->uid ? o->process(o->context, pid) : ERR_OK;
}

enum err scan_processes(u32 uid, void *context, enum err (*process)(void *context, u32 pid))
{
	struct own_only o = {uid, context, process};

	return scan("/proc", &o, if_own);
}

/* Fields after the name: state, parent, … */
#define FIELD_PARENT 2
#define FIELD_START  20

/* "pid (name) state parent …". The name may hold anything. */
bool stat_parse(struct str text, u32 *ret_parent, u64 *ret_start_ns)
{
	struct str rest = str_trim(str_skip(text, str_rfind(text, ')') + 1)), field;
	u64 parent = 0, start = 0;

	for (unsigned n = 1; n <= FIELD_START; n++)
		if (!str_split(&rest, ' ', &field) ||
		    (n == FIELD_PARENT && str_to_u64(field, 10, &parent) != ERR_OK) ||
		    (n == FIELD_START && str_to_u64(field, 10, &start) != ERR_OK))
			return false;
	*ret_parent = (u32)parent;
	*ret_start_ns = start * (u64)(NS_PER_S / sysconf(_SC_CLK_TCK));
	return true;
}

bool stat_read(u32 pid, u32 *ret_parent, u64 *ret_start_ns)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return file_read(path, &text, NULL) == ERR_OK &&
	       stat_parse(buf_view(&text), ret_parent, ret_start_ns);
}
