/* Machine code that is followed: every rule is there, and stands where an instruction begins. */
#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/code_follow.h"
#include "unwind/instruction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESS 0x1000u

static void check(const u16 *rules, struct str code, size_t count)
{
	for (size_t at = 0; at < code.n; at++) {
		struct instruction i;

		if (!rules[at])
			continue;
		if (!instruction_read(str_skip(code, at), ADDRESS + at, &i) || !i.length ||
		    i.length > code.n - at ||
		    (rules[at] & UNWIND_ESCAPE && (rules[at] & ~UNWIND_ESCAPE) >= count))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_part part = {str_n((const char *)data, size), ADDRESS};
	/* The first byte and the last also say where a function and the program begin. */
	u64 starts[1] = {ADDRESS + (size ? data[0] : 0)};
	struct code_starts some = {starts, 1};
	struct unwind_rules *rules;
	u16 *found;
	size_t count;

	if (!size)
		return 0;
	found = mem_zalloc(size, sizeof(*found));
	if (!found || unwind_rules_new(&rules) != ERR_OK)
		abort();
	if (code_follow(part, ADDRESS + data[size - 1], &some, rules, found) != ERR_OK)
		abort();
	unwind_rules_all(rules, &count);
	check(found, part.bytes, count);
	unwind_rules_free(rules);
	mem_free(found);
	return 0;
}
