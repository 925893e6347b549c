#include "agent/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* Some 20,000 lines: what lies behind them is not known. */
#define MAPS_CEILING ((size_t)2 << 20)

/* "55d0…-55d1… r-xp 00002000 fe:01 1234   /usr/bin/x"; numbers in hex but the inode. */
static bool parse_line(struct str line, struct sideband_event *ret)
{
	struct str range, rights, offset, device, inode, start;
	struct sideband_event e = {.kind = SIDEBAND_MAP};
	struct str major;
	u64 number;

	if (!str_split(&line, ' ', &range) || !str_split(&line, ' ', &rights) || rights.n < 3 ||
	    rights.p[2] != 'x' || !str_split(&line, ' ', &offset) ||
	    !str_split(&line, ' ', &device) || !str_split(&line, ' ', &inode))
		return false;
	if (!str_split(&range, '-', &start) || str_to_u64(start, 16, &e.start) ||
	    str_to_u64(range, 16, &e.end) || str_to_u64(offset, 16, &e.file_offset) ||
	    str_to_u64(inode, 10, &e.inode) || !str_split(&device, ':', &major))
		return false;
	if (str_to_u64(major, 16, &number))
		return false;
	e.device_major = (u32)number;
	if (str_to_u64(device, 16, &number))
		return false;
	e.device_minor = (u32)number;
	e.name = sideband_plain_name(str_trim(line));
	*ret = e;
	return e.end > e.start && !str_eq(e.name, STR("[vsyscall]"));
}

enum err proc_maps_parse(struct str text, void *context,
			 enum err (*mapping)(void *context, const struct sideband_event *e))
{
	struct sideband_event e;
	struct str line;

	while (str_split(&text, '\n', &line))
		if (parse_line(line, &e))
			TRY(mapping(context, &e));
	return ERR_OK;
}

/* As much as there is room for; what was read is whole lines, and the begin of one. */
static enum err read_some(const char *path, char *room, size_t size, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return err_from_errno(errno);
	while (n < size && got > 0) {
		got = read(fd, room + n, size - n);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			n += (size_t)got;
	}
	close(fd);
	*ret_n = n;
	return got < 0 && !n ? err_from_errno(errno) : ERR_OK;
}

enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context, const struct sideband_event *e))
{
	char path[40], *room = mem_alloc(MAPS_CEILING);
	size_t n = 0;
	enum err e;

	if (!room)
		return ERR_NO_MEMORY;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	e = read_some(path, room, MAPS_CEILING, &n);
	/* The line that was cut is not a whole one. */
	while (!e && n == MAPS_CEILING && room[n - 1] != '\n')
		n--;
	if (!e)
		e = proc_maps_parse(str_n(room, n), context, mapping);
	mem_free(room);
	return e;
}

void proc_comm_read(u32 pid, char comm[16])
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64);
	char path[40];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (file_read(path, &text, NULL) != ERR_OK)
		return;
	n = str_trim(buf_view(&text)).n;
	memset(comm, 0, 16);
	memcpy(comm, text.data, n < 15 ? n : 15);
}
