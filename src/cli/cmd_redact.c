/*
 * vestal redact: take out of a profile what must not leave the house.
 */
#include "base/hash.h"
#include "cli/export.h"
#include "cli/input.h"

struct redact_cli_options {
	struct common_options common;
	struct input_options input;
	struct sink_options output;
	const char *pattern, *to;
	bool strip, mask;
};

static const struct option table[] = {
	{"pattern", 'p', OPT_TEXT, "RE", "pattern to redact (password|secret|credential|token)",
	 AT(struct redact_cli_options, pattern), NULL},
	{"strip-paths", 0, OPT_FLAG, NULL, "leave only the last part of file names",
	 AT(struct redact_cli_options, strip), NULL},
	{"mask-paths", 0, OPT_FLAG, NULL, "put a short hash in place of directories",
	 AT(struct redact_cli_options, mask), NULL},
	{"to", 0, OPT_TEXT, "FORMAT", "write FORMAT; without it the name of the output decides",
	 AT(struct redact_cli_options, to), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Output", sink_table, AT(struct redact_cli_options, output)},
	{"Inputs", input_table, AT(struct redact_cli_options, input)},
	{"Server", client_table, AT(struct redact_cli_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal redact cpu.pb.gz -o public.pb.gz", "names with password, secret … in them"},
	{"vestal redact --strip-paths cpu.pb.gz -o short.pb.gz", "and no directories"},
	{"vestal redact --pattern 'acme|initech' cpu.pb.gz -o clean.pb.gz", "with another pattern"},
	{0},
};

static void set_defaults(void *options)
{
	input_defaults(&((struct redact_cli_options *)options)->input);
}

/* By --to or by name; stdout and odd names get the format of the input. */
static int choose_target(const struct invocation *in, const struct redact_cli_options *o,
			 const struct format **ret)
{
	if (!o->to && !export_format_of(o->output.path))
		return EXIT_OK;
	return export_format(in, o->to, o->output.path, ret);
}

struct redacted {
	struct dict dict;
	struct profile_list list;
	struct redact_result result;
};

static enum err redact_all(const struct inputs *in, const struct redact_options *options,
			   struct redacted *r, struct fault *fault)
{
	for (size_t i = 0; i < in->list.n; i++) {
		struct redact_result one = {0};
		struct profile *p;

		TRY(profile_list_add(&r->list, &r->dict, &p));
		TRY(profile_redact(in->list.v[i], options, p, &one, fault));
		r->result.names += one.names;
		r->result.files += one.files;
		r->result.labels += one.labels;
		r->result.comments += one.comments;
	}
	return ERR_OK;
}

static int write_redacted(const struct redact_cli_options *o, const struct format *format,
			  const struct redacted *r)
{
	struct writing w = {
		.list = &r->list, .type = -1, .compress = export_compression(o->output.path)};
	int status = export_write(&o->common, &o->output, format, &w, NULL);

	if (!status)
		say(&o->common, "redacted %u names, %u files, %u label values, %u comments",
		    r->result.names, r->result.files, r->result.labels, r->result.comments);
	return status;
}

static int redact_inputs(const struct redact_cli_options *o, const struct inputs *in,
			 const struct format *format)
{
	struct redact_options options = {
		.pattern = str_of(o->pattern),
		.paths = o->strip  ? PATHS_STRIP
			 : o->mask ? PATHS_MASK
				   : PATHS_KEEP,
	};
	struct redacted r = {0};
	struct fault fault = {0};
	enum err e = dict_init(&r.dict, hash_random_seed());
	int status;

	if (e)
		return complain(status_of(e), "%s", err_text(e));
	e = redact_all(in, &options, &r, &fault);
	if (e)
		status = complain(status_of(e), "redact: %s",
				  fault.text[0] ? fault.text : err_text(e));
	else
		status = write_redacted(o, format, &r);
	profile_list_release(&r.list);
	dict_release(&r.dict);
	return status;
}

static int run(struct invocation *in)
{
	struct redact_cli_options *o = in->options;
	const struct format *format = NULL;
	struct inputs inputs;
	int status;

	if (in->arguments.n != 1)
		return complain_usage(in, "one input: vestal redact FILE -o OUT");
	if (!o->output.path)
		return complain_usage(in, "where to? -o FILE");
	if (o->strip && o->mask)
		return complain_usage(in, "--strip-paths and --mask-paths exclude each other");
	status = choose_target(in, o, &format);
	if (!status)
		status = sink_check(&o->output, format && format->binary,
				    format ? format->title : "");
	if (status)
		return status;
	inputs_init(&inputs, &o->common, &o->input);
	status = inputs_read(&inputs, in->arguments.v[0]);
	inputs_say_notes(&inputs);
	if (!status && !format)
		format = inputs.sources.v[0].format;
	if (!status && format->merged)
		status = inputs_merge(&inputs);
	if (!status)
		status = sink_check(&o->output, format->binary, format->title);
	if (!status)
		status = redact_inputs(o, &inputs, format);
	inputs_release(&inputs);
	return status;
}

const struct command command_redact = {
	.name = "redact",
	.summary = "redact names, paths and label values of a profile",
	.arguments = "FILE -o OUT",
	.examples = examples,
	.description =
		"Function names, files, modules, label values, comments and resource attributes "
		"that "
		"match the pattern (case is ignored) become [REDACTED]. The output is rebuilt, so "
		"that it contains no old text. Changes are reported on stderr.",
	.groups = groups,
	.options_size = sizeof(struct redact_cli_options),
	.defaults = set_defaults,
	.run = run,
};
