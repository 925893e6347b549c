/*
 * A table as another process says it built it: u16 pages, u16 rules, then page table, rules and
 * blocks. What is accepted can be searched at every address and has only rules that are there.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKUPS 512

static void look_up(const struct unwind_table *t, const struct unwind_rules *rules)
{
	u64 span = (u64)t->page_count << UNWIND_PAGE_SHIFT;
	size_t count;

	unwind_rules_all(rules, &count);
	for (u64 i = 0; i < LOOKUPS; i++) {
		u32 rule = unwind_table_rule(t, i < 8 ? span + i - 4 : span / LOOKUPS * i + i * 37);

		if (rule & UNWIND_ESCAPE && (rule & ~UNWIND_ESCAPE) >= count)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_n(data, size);
	struct unwind_table t = {.blocks = BUF_INIT(1 << 24)};
	struct unwind_rule *theirs;
	struct unwind_rules *rules;
	u16 counts[2];

	if (size < sizeof(counts))
		return 0;
	memcpy(counts, data, sizeof(counts));
	rest = str_skip(rest, sizeof(counts));
	if (rest.n < counts[0] * sizeof(u32) + counts[1] * sizeof(*theirs))
		return 0;
	t.pages = mem_zalloc(counts[0] + 1u, sizeof(*t.pages));
	theirs = mem_zalloc(counts[1] + 1u, sizeof(*theirs));
	if (!t.pages || !theirs || unwind_rules_new(&rules) != ERR_OK)
		abort();
	t.page_count = counts[0];
	memcpy(t.pages, rest.p, counts[0] * sizeof(u32));
	rest = str_skip(rest, counts[0] * sizeof(u32));
	memcpy(theirs, rest.p, counts[1] * sizeof(*theirs));
	buf_str(&t.blocks, str_skip(rest, counts[1] * sizeof(*theirs)));
	if (unwind_table_adopt(&t, theirs, counts[1], rules) == ERR_OK)
		look_up(&t, rules);
	unwind_table_release(&t);
	unwind_rules_free(rules);
	mem_free(theirs);
	return 0;
}
