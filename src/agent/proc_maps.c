#include "agent/proc_maps.h"

#include <stdio.h>

#include "base/file.h"

#define MAPS_CEILING ((size_t)16 << 20)

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
	e.name = str_trim(line);
	/* Its file is gone; through the mapping it can still be opened. */
	if (str_ends(e.name, STR(" (deleted)")))
		e.name.n -= 10;
	*ret = e;
	return e.end > e.start && !str_eq(e.name, STR("[vsyscall]"));
}

enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context, const struct sideband_event *e))
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAPS_CEILING);
	struct sideband_event e;
	struct str rest, line;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	TRY(file_read(path, &text, NULL));
	rest = buf_view(&text);
	while (str_split(&rest, '\n', &line))
		if (parse_line(line, &e))
			TRY(mapping(context, &e));
	return ERR_OK;
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
