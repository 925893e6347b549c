/*
 * Prints what the unwinding table of a file says about addresses: reads hexadecimal addresses from
 * standard input, one a line, prints "ADDRESS CFA RBP" for each, in readelf's words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "unwind/unwind.h"

static void print_long(const struct unwind_rule *r)
{
	static const char *const kinds[] = {"none",	"end",	 "signal", "switch",
					    "register", "deref", "plt"};

	if (r->kind == UNWIND_REGISTER)
		printf("r%u%+d", r->cfa_register, r->cfa_offset);
	else
		printf("%s", kinds[r->kind]);
	if (r->rbp_saved == UNWIND_AT_CFA)
		printf(" c%+d\n", r->rbp_offset);
	else
		printf(r->rbp_saved == UNWIND_SAME ? " u\n" : " exp\n");
}

static void print_rule(u32 rule, const struct unwind_rule *all)
{
	u32 saved = rule & 0x1f;

	if (rule & UNWIND_ESCAPE) {
		print_long(&all[rule & ~UNWIND_ESCAPE]);
		return;
	}
	printf("%s+%u", rule & UNWIND_CFA_RBP ? "rbp" : "rsp", (rule >> 5 & 0x1ff) * 8);
	if (saved)
		printf(" c-%u\n", saved * 8);
	else
		printf(" u\n");
}

int main(int argc, char **argv)
{
	struct buf file = BUF_INIT((size_t)2 << 30);
	struct unwind_rules *rules = NULL;
	struct unwind_table table = {0};
	struct fault fault = {0};
	const struct unwind_rule *all;
	size_t count;
	char line[64];

	if (argc != 2 || file_read(argv[1], &file, &fault) || unwind_rules_new(&rules) ||
	    unwind_table_build(buf_view(&file), rules, &table, &fault)) {
		fprintf(stderr, "%s\n", fault.text);
		return 1;
	}
	all = unwind_rules_all(rules, &count);
	while (fgets(line, sizeof(line), stdin)) {
		u64 address = strtoull(line, NULL, 16);

		printf("%llx ", (unsigned long long)address);
		print_rule(unwind_table_rule(&table, address), all);
	}
	unwind_table_release(&table);
	unwind_rules_free(rules);
	buf_release(&file);
	return 0;
}
