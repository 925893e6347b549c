/*
 * An ELF file: its headers, and the table made of .eh_frame, .debug_frame or Go's functions. Blocks
 * lie where they may, and every address has a rule that is there. The same without a table.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKUPS	 512
#define SEARCHES 64

static void look_up(const struct unwind_table *t, const struct unwind_rules *rules)
{
	size_t count, blocks = t->blocks.n;

	unwind_rules_all(rules, &count);
	for (u32 page = 0; page < t->page_count; page++) {
		size_t at = t->pages[page];

		if (at && (at > blocks || (at - 1) % UNWIND_UNIT ||
			   blocks - (at - 1) < UNWIND_BLOCK_HEAD + 4 /* a row and its rule */))
			abort();
	}
	for (u64 i = 0; i < LOOKUPS; i++) {
		u64 span = (u64)t->page_count << UNWIND_PAGE_SHIFT;
		u32 rule = unwind_table_rule(t, i < 8 ? span + i - 4 : span / LOOKUPS * i + i * 37);

		if (rule > 0xffff || (rule & UNWIND_ESCAPE && (rule & ~UNWIND_ESCAPE) >= count))
			abort();
	}
}

static void search(struct str file, struct unwind_rules *rules)
{
	size_t count;
	u32 rule;

	for (u64 i = 0; i < SEARCHES; i++) {
		if (unwind_rule_search(file, i < 4 ? UINT64_MAX - i : i * i * 4099, rules, &rule))
			continue;
		unwind_rules_all(rules, &count);
		if (rule > 0xffff || (rule & UNWIND_ESCAPE && (rule & ~UNWIND_ESCAPE) >= count))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = mem_alloc(size + !size);
	struct unwind_rules *rules;
	struct unwind_image image;
	struct unwind_table table;
	struct fault fault = {0};

	if (!copy || unwind_rules_new(&rules) != ERR_OK)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (!unwind_image_read(str_n(copy, size), &image, &fault) &&
	    (image.load_count > UNWIND_LOADS_MAX || image.build_id_size > UNWIND_BUILD_ID_SIZE))
		abort();
	if (!unwind_table_build(str_n(copy, size), rules, &table, &fault)) {
		look_up(&table, rules);
		unwind_table_release(&table);
	}
	search(str_n(copy, size), rules);
	unwind_rules_free(rules);
	mem_free(copy);
	return 0;
}
