/*
 * vestal labels: the labels of stored profiles, and their values.
 */
#include "cli/listing.h"

static const struct example examples[] = {
	{"vestal labels", "names of labels"},
	{"vestal labels commit", "values of one"},
	{"vestal labels commit --query 'checkout{}' --from -7d", "of one service, of a week"},
	{0},
};

static int run(struct invocation *in)
{
	if (in->arguments.n > 1)
		return complain_usage(in, "one label at a time: vestal labels NAME");
	if (in->arguments.n)
		return list_print(in->options, "/api/v1/labels", in->arguments.v[0], "values");
	return list_print(in->options, "/api/v1/labels", NULL, "names");
}

const struct command command_labels = {
	.name = "labels",
	.summary = "which labels stored profiles have, and their values",
	.arguments = "[NAME]",
	.examples = examples,
	.description =
		"Without a name it prints the names of all labels, one a line; with a name its "
		"values. Labels of series (service_name, commit …) and of samples (thread, "
		"endpoint …) are both there, and both may stand in a selector.",
	.groups = list_groups,
	.options_size = sizeof(struct list_options),
	.words = "",
	.run = run,
};
