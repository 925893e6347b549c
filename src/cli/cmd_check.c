/*
 * vestal check: whether everything a server wrote is still what it wrote.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/serve.h"

struct check_options {
	struct common_options common;
	bool repair;
};

static const struct option table[] = {
	{"repair", 0, OPT_FLAG, NULL,
	 "move damaged files aside, keep their intact rows, and list what is missing",
	 AT(struct check_options, repair), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal check vestal-data", "a server's data, while the server is stopped"},
	{"vestal check /backup/monday", "a backup"},
	{"vestal check --repair vestal-data",
	 "repair after damage: all intact data can be queried again"},
	{0},
};

static void put_problem(void *context, const char *problem)
{
	size_t *problems = context;

	++*problems;
	complain(EXIT_BAD_DATA, "%s", problem);
}

static void time_text(int64_t ns, char *out, size_t size)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(out, size, "?");
}

static void put_lost(void *context, const struct store_lost *lost)
{
	const struct common_options *common = context;
	char from[40], until[40], count[40] = "";

	if (!lost->until_ns) {
		say(common, "%.*s/%s: %s", (int)lost->tenant.n, lost->tenant.p, lost->file,
		    lost->reason);
		return;
	}
	time_text(lost->from_ns, from, sizeof(from));
	time_text(lost->until_ns, until, sizeof(until));
	if (lost->profiles >= 0)
		snprintf(count, sizeof(count), ", %lld profiles", (long long)lost->profiles);
	say(common, "%.*s: lost data of %s from %s until %s%s: %s", (int)lost->tenant.n,
	    lost->tenant.p, lost->service ? lost->service : "any service", from, until, count,
	    lost->reason);
}

static int repair(const struct check_options *o, const char *directory)
{
	struct store_repaired repaired = {0};
	struct fault fault = {0};
	enum err e = store_repair(directory, put_lost, (void *)&o->common, &repaired, &fault);

	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (!repaired.files)
		say(&o->common, "%s: nothing to repair", directory);
	else
		say(&o->common,
		    "%s: %llu files repaired; the damaged files are in detached/, with a manifest",
		    directory, (unsigned long long)repaired.files);
	return EXIT_OK;
}

static int run(struct invocation *in)
{
	const struct check_options *o = in->options;
	const char *directory = in->arguments.n == 1 ? in->arguments.v[0] : NULL;
	struct fault fault = {0};
	size_t problems = 0;
	struct store_checked checked = {0};
	enum err e;

	if (!directory)
		return complain_usage(in, "which directory? vestal check DIR");
	if (o->repair)
		return repair(o, directory);
	e = store_check(directory, put_problem, &problems, &checked, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (problems)
		return complain(EXIT_BAD_DATA, "%s: %zu problems in %llu rows and files", directory,
				problems, (unsigned long long)checked.pieces);
	say(&o->common, "%s: %llu rows and files checked, no damage", directory,
	    (unsigned long long)checked.pieces);
	if (checked.unsealed)
		say(&o->common,
		    "%llu files have rows written by an older vestal, without checksums that bind "
		    "them to their place, until compaction rewrites them",
		    (unsigned long long)checked.unsealed);
	return EXIT_OK;
}

const struct command command_check = {
	.name = "check",
	.summary = "verify a server's directory, and repair it",
	.arguments = "DIR",
	.examples = examples,
	.description =
		"Reads all data of a server and verifies that every row is intact and in its "
		"place, and that none is missing. It changes nothing. Stop the server first, or "
		"check a backup. The exit status is 65 if something is damaged.\n\n"
		"--repair moves each damaged file to the directory detached/ of its tenant and "
		"writes a new one with all intact rows. It lists what is missing, here and in "
		"detached/manifest.jsonl. Nothing is deleted. A second run finds nothing to do.",
	.groups = groups,
	.options_size = sizeof(struct check_options),
	.run = run,
};
