#include <libdeflate.h>
#include <zstd.h>

#include "base/jsonout.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "commit.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct version_options {
	struct common_options common;
	bool json;
};

static const struct option table[] = {
	{"json", 0, OPT_FLAG, NULL, "as JSON (docs/json.md)", AT(struct version_options, json),
	 NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal version", "version, commit and libraries"},
	{"vestal version --json", "the same for programs"},
	{0},
};

static void put_json(struct buf *out)
{
	struct jsonout o = jsonout_of(out, true);

	jsonout_object(&o);
	jsonout_put_text(&o, "schema", "vestal.version/1");
	jsonout_put_text(&o, "version", VESTAL_VERSION);
	jsonout_put_text(&o, "commit", VESTAL_COMMIT);
	jsonout_put_text(&o, "compiler", COMPILER);
	jsonout_put_object(&o, "libraries");
	jsonout_put_text(&o, "libdeflate", LIBDEFLATE_VERSION_STRING);
	jsonout_put_text(&o, "libzstd", ZSTD_versionString());
	jsonout_end_object(&o);
	jsonout_end_object(&o);
	buf_byte(out, '\n');
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
	const struct version_options *o = in->options;

	if (in->arguments.n)
		return complain_usage(in, "%s: no argument is expected", in->arguments.v[0]);
	if (o->json)
		put_json(&out);
	else
		buf_printf(&out, "vestal %s%s%s%s\nlibdeflate %s, libzstd %s, built with %s\n",
			   VESTAL_VERSION, VESTAL_COMMIT[0] ? " (" : "", VESTAL_COMMIT,
			   VESTAL_COMMIT[0] ? ")" : "", LIBDEFLATE_VERSION_STRING,
			   ZSTD_versionString(), COMPILER);
	return sink_stdout(&out);
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.arguments = "",
	.examples = examples,
	.description = "Prints the version, the commit it was built from and its libraries.",
	.groups = groups,
	.options_size = sizeof(struct version_options),
	.words = "",
	.run = run,
};
