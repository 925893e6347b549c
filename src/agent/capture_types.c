#include "agent/capture_types.h"

#include <stdio.h>

static const struct {
	const char *name;
	unsigned type;
} types[] = {
	{"cpu", CAPTURE_CPU},
	{"offcpu", CAPTURE_WAITS},
	{"off_cpu", CAPTURE_WAITS},
	{"lock", CAPTURE_LOCKS},
	{"wall", CAPTURE_WALL},
	{"threads", CAPTURE_THREADS},
	{"faults", CAPTURE_FAULTS | CAPTURE_MAPPED},
	{"loop", CAPTURE_LOOPS},
};

enum err capture_types_parse(struct str text, unsigned *ret, struct fault *fault)
{
	unsigned found = 0;
	struct str one;

	while (str_split(&text, ',', &one)) {
		unsigned type = 0;

		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (str_eq(one, str_of(types[i].name)))
				type = types[i].type;
		if (!type)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "%.*s is not one of " CAPTURE_TYPE_NAMES,
					 (int)(one.n < 60 ? one.n : 60), one.p);
		found |= type;
	}
	if (!found)
		return fault_set(fault, ERR_BAD_ARGUMENT, "at least one type is needed");
	*ret = found;
	return ERR_OK;
}

void capture_types_write(unsigned which, char room[CAPTURE_NAMES_ROOM])
{
	static const char *const names[] = {"cpu",     "offcpu", "lock",   "wall",
					    "threads", "faults", "mapped", "loop"};
	size_t n = 0;

	room[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (which >> i & 1)
			n += (size_t)snprintf(room + n, CAPTURE_NAMES_ROOM - n, "%s%s",
					      n ? ", " : "", names[i]);
}
