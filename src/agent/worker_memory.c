/* Memory of the agent's processes: see worker_host.h. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/worker_host.h"
#include "base/str.h"

/* The start of a file below /proc/PID, as far as `room` goes; empty when it cannot be read. */
static struct str read_proc_file(pid_t pid, const char *name, char *text, size_t room)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, room);
	if (fd >= 0)
		close(fd);
	return str_n(text, n > 0 ? (size_t)n : 0);
}

/* Memory of its own: what is resident (the second number of statm) but for files (the third). */
u64 process_own_bytes(pid_t pid)
{
	char text[200];
	struct str rest = read_proc_file(pid, "statm", text, sizeof(text)), field;
	u64 resident, files;

	if (!str_split(&rest, ' ', &field) || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &resident) != ERR_OK || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &files) != ERR_OK || files > resident)
		return 0;
	return (resident - files) * (u64)sysconf(_SC_PAGESIZE);
}

u64 process_pss(pid_t pid)
{
	char text[2048];
	struct str rest = read_proc_file(pid, "smaps_rollup", text, sizeof(text)), line;
	u64 kib;

	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, STR("Pss:")))
			continue;
		line = str_trim(str_skip(line, 4));
		return str_to_u64(str_n(line.p, str_find(line, ' ')), 10, &kib) ? 0 : kib * 1024;
	}
	return 0;
}
