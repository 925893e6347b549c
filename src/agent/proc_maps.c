#include "agent/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* About 20,000 lines; later mappings are unknown. */
#define MAPS_CEILING ((size_t)2 << 20)
/* Read at once; more than a line, less than what malloc takes from the system each time. */
#define MAPS_READ    ((size_t)32 << 10)

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

static enum err read_some(int fd, char *to, size_t size, size_t *ret_n)
{
	ssize_t n;

	do
		n = read(fd, to, size);
	while (n < 0 && errno == EINTR);
	*ret_n = n > 0 ? (size_t)n : 0;
	return n < 0 ? err_from_errno(errno) : ERR_OK;
}

/* The lines that are whole; `*n` is what is left of the last one. */
static enum err parse_whole(char *room, size_t *n, void *context,
			    enum err (*mapping)(void *context, const struct sideband_event *e))
{
	size_t end = str_rfind(str_n(room, *n), '\n');

	if (end == *n)
		return *n == MAPS_READ ? ERR_TOO_LARGE : ERR_OK;
	TRY(proc_maps_parse(str_n(room, end), context, mapping));
	*n -= end + 1;
	memmove(room, room + end + 1, *n);
	return ERR_OK;
}

static enum err read_all(int fd, char *room, void *context,
			 enum err (*mapping)(void *context, const struct sideband_event *e))
{
	size_t n = 0, got = 1;

	for (size_t total = 0; got && total < MAPS_CEILING; total += got) {
		enum err e = read_some(fd, room + n, MAPS_READ - n, &got);

		/* Keep what was read before it ended. */
		if (e)
			return total ? ERR_OK : e;
		n += got;
		TRY(parse_whole(room, &n, context, mapping));
	}
	return ERR_OK;
}

enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context, const struct sideband_event *e))
{
	char path[40], *room;
	enum err e;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_from_errno(errno);
	room = mem_alloc(MAPS_READ);
	e = room ? read_all(fd, room, context, mapping) : ERR_NO_MEMORY;
	mem_free(room);
	close(fd);
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
