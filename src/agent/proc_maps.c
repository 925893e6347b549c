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

enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context, const struct sideband_event *e))
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAPS_CEILING);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	TRY(file_read(path, &text, NULL));
	return proc_maps_parse(buf_view(&text), context, mapping);
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
