/*
 * What a process writes into its own environment, and what the name of its cgroup is. The first
 * byte says which: texts lie in the arena or the input, and are as short as promised.
 */
#include <stdlib.h>

#include "agent/process_look.h"
#include "base/alloc.h"
#include "base/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LONGEST 4096u

static bool is_inside(struct str part, struct str all)
{
	return !part.n || (part.p >= all.p && part.p + part.n <= all.p + all.n);
}

static void read_environment(struct str text)
{
	struct process_facts facts = {0};
	struct str service = {0}, value;
	struct arena a = {0};

	if (environment_parse(text, &a, &facts, &service))
		abort();
	if (service.n > LONGEST || facts.attributes.n > LONGEST)
		abort();
	value = attribute_find(facts.attributes, STR("service.version"));
	if (!is_inside(value, facts.attributes))
		abort();
	arena_release(&a);
}

static void read_cgroup(struct str text)
{
	struct str container, unit, line = text;

	cgroup_parse(text, &container, &unit);
	if (!is_inside(container, text) || !is_inside(unit, text))
		abort();
	line.n = str_find(line, '\n');
	(void)cgroup_matches(text, line);
	(void)cgroup_matches(text, str_skip(line, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = mem_alloc(size + 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (size && data[0] == 'e')
		read_environment(str_n(copy + 1, size - 1));
	else if (size)
		read_cgroup(str_n(copy + 1, size - 1));
	mem_free(copy);
	return 0;
}
