#include "agent/processors.h"

#include <unistd.h>

#include "base/file.h"

/* Enough for a machine with every other CPU offline. */
#define LIST_CEILING 65536

bool processors_parse(struct str text, struct processors *ret)
{
	struct processors found = {{0}};
	struct str range;
	bool any = false;

	text = str_trim(text);
	while (str_split(&text, ',', &range)) {
		size_t dash = str_find(range, '-');
		uint64_t first, last;

		if (str_to_u64(str_n(range.p, dash), 10, &first) != ERR_OK)
			return false;
		last = first;
		if (dash < range.n && str_to_u64(str_skip(range, dash + 1), 10, &last) != ERR_OK)
			return false;
		if (last < first || last >= PROCESSORS_MAX)
			return false;
		for (; first <= last; first++)
			found.bits[first / 64] |= (u64)1 << first % 64;
		any = true;
	}
	if (any)
		*ret = found;
	return any;
}

void processors_read(struct processors *ret)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(LIST_CEILING);
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	if (file_read("/sys/devices/system/cpu/online", &text, NULL) == ERR_OK &&
	    processors_parse(buf_view(&text), ret))
		return;
	*ret = (struct processors){{0}};
	for (long cpu = 0; cpu < configured && cpu < PROCESSORS_MAX; cpu++)
		ret->bits[cpu / 64] |= (u64)1 << cpu % 64;
}

bool processor_event_lives(int fd, u64 *time_before)
{
	u64 words[2];
	bool lives;

	if (read(fd, words, sizeof(words)) != (ssize_t)sizeof(words))
		return false;
	lives = words[1] != *time_before;
	*time_before = words[1];
	return lives;
}
