/*
 * A process is in one control group of each hierarchy (/proc/self/cgroup), and every group above it
 * limits it, too:
 *
 *	0::/system.slice/vestal.service		v2: /sys/fs/cgroup/PATH/memory.max
 *	4:memory:/docker/1234			v1: /sys/fs/cgroup/memory/PATH/memory.limit_in_bytes
 *
 * Inside a container the path may be one of the host's that is not mounted here: then the root of
 * what is mounted is the container's own group.
 */
#include "base/memory_limit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

#define FILE_MAX  ((size_t)64 << 10)
#define PATH_SIZE 4096
#define SPARE	  ((size_t)64 << 20)
/* v1 reports "no limit" as a huge number. */
#define NO_LIMIT  ((uint64_t)1 << 60)

static bool read_text(const char *path, struct buf *text)
{
	buf_clear(text);
	return file_read(path, text, NULL) == ERR_OK;
}

/* The number in a file; "max" or a missing file is no limit. */
static uint64_t read_limit(const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
	uint64_t value;

	if (!read_text(path, &text) || str_to_u64(str_trim(buf_view(&text)), 10, &value) ||
	    value >= NO_LIMIT)
		return SIZE_MAX;
	return value;
}

/* The lowest limit of a group and its ancestors, up to the mount point of the hierarchy. */
static uint64_t least_of_group(const char *mount, struct str group, const char *file)
{
	char path[PATH_SIZE];
	uint64_t least = SIZE_MAX, limit;

	for (;;) {
		int n = snprintf(path, sizeof(path), "%s%.*s/%s", mount, (int)group.n, group.p,
				 file);

		limit = n > 0 && (size_t)n < sizeof(path) ? read_limit(path) : SIZE_MAX;
		least = limit < least ? limit : least;
		if (!group.n)
			return least;
		group.n = str_rfind(group, '/') < group.n ? str_rfind(group, '/') : 0;
	}
}

/* One line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH. */
static uint64_t limit_of_line(const char *root, struct str line)
{
	struct str number, controllers, one;
	char mount[PATH_SIZE];

	if (!str_split(&line, ':', &number) || !str_split(&line, ':', &controllers))
		return SIZE_MAX;
	if (!controllers.n) {
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
		return least_of_group(mount, line, "memory.max");
	}
	while (str_split(&controllers, ',', &one))
		if (str_eq(one, STR("memory"))) {
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/memory", root);
			return least_of_group(mount, line, "memory.limit_in_bytes");
		}
	return SIZE_MAX;
}

/* MemTotal of /proc/meminfo. */
static uint64_t machine_memory(const char *root)
{
	static const struct str word = STR("MemTotal:");
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
	char path[PATH_SIZE];
	struct str rest, line;
	uint64_t kb;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (!read_text(path, &text))
		return SIZE_MAX;
	rest = buf_view(&text);
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, word))
			continue;
		line = str_trim(str_skip(line, word.n));
		line.n = str_find(line, ' ');
		return str_to_u64(line, 10, &kb) == ERR_OK && kb < NO_LIMIT >> 10 ? kb << 10
										  : SIZE_MAX;
	}
	return SIZE_MAX;
}

size_t memory_limit_below(const char *root, bool *ret_group)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
	uint64_t machine = machine_memory(root), least = SIZE_MAX;
	char path[PATH_SIZE];
	struct str rest, line;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (read_text(path, &text)) {
		rest = buf_view(&text);
		while (str_split(&rest, '\n', &line)) {
			uint64_t limit = limit_of_line(root, line);

			least = limit < least ? limit : least;
		}
	}
	*ret_group = least < machine;
	return *ret_group ? least : machine;
}

size_t memory_limit_here(bool *ret_group)
{
	return memory_limit_below("", ret_group);
}

size_t memory_limit_default(void)
{
	bool group;
	size_t limit = memory_limit_here(&group), spare = limit / 4;

	if (limit == SIZE_MAX)
		return (size_t)1 << 30;
	if (!group)
		return limit / 4;
	if (spare < SPARE)
		spare = SPARE;
	return spare < limit - limit / 4 ? limit - spare : limit / 4;
}

size_t memory_resident(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
	struct str rest, size, resident, shared;
	uint64_t all, files;

	if (!read_text("/proc/self/statm", &text))
		return 0;
	rest = buf_view(&text);
	if (!str_split(&rest, ' ', &size) || !str_split(&rest, ' ', &resident) ||
	    !str_split(&rest, ' ', &shared) || str_to_u64(resident, 10, &all) ||
	    str_to_u64(shared, 10, &files) || files > all)
		return 0;
	return (size_t)(all - files) * (size_t)sysconf(_SC_PAGESIZE);
}
