/*
 * vestal check: whether everything a server wrote is still what it wrote.
 */
#include "cli/command.h"
#include "cli/serve.h"

struct check_options {
	struct common_options common;
};

static const struct option_group groups[] = {
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal check vestal-data", "of a server that does not run"},
	{"vestal check /backup/monday", "of a backup"},
	{0},
};

static void put_problem(void *context, const char *problem)
{
	size_t *problems = context;

	++*problems;
	complain(EXIT_BAD_DATA, "%s", problem);
}

static int run(struct invocation *in)
{
	const struct check_options *o = in->options;
	const char *directory = in->arguments.n == 1 ? in->arguments.v[0] : NULL;
	struct fault fault = {0};
	size_t problems = 0;
	uint64_t checked = 0;
	enum err e;

	if (!directory)
		return complain_usage(in, "which directory? vestal check DIR");
	e = store_check(directory, put_problem, &problems, &checked, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (problems)
		return complain(EXIT_BAD_DATA, "%s: %zu problems in %llu pieces", directory,
				problems, (unsigned long long)checked);
	say(&o->common, "%s: %llu pieces, all as they were written", directory,
	    (unsigned long long)checked);
	return EXIT_OK;
}

const struct command command_check = {
	.name = "check",
	.summary = "verify every checksum of a server's directory",
	.arguments = "DIR",
	.examples = examples,
	.description =
		"Reads everything a server keeps and verifies it: every checksum, every table, "
		"every reference. It changes nothing, and the server must not run meanwhile "
		"(check a backup instead). The exit status is 65 when something is wrong.",
	.groups = groups,
	.options_size = sizeof(struct check_options),
	.run = run,
};
