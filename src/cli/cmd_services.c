/*
 * vestal services: which services the server knows.
 */
#include "cli/listing.h"

static const struct example examples[] = {
	{"vestal services", "all of them"},
	{"vestal services --from -1h", "those that sent something in the last hour"},
	{"vestal services --type heap", "those with heap profiles"},
	{0},
};

static int run(struct invocation *in)
{
	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	return list_print(in->options, "/api/v1/services", NULL, "services");
}

const struct command command_services = {
	.name = "services",
	.summary = "which services a server knows",
	.arguments = "",
	.examples = examples,
	.description = "Prints the names of the services that sent profiles, one a line, sorted.",
	.groups = list_groups,
	.options_size = sizeof(struct list_options),
	.words = "",
	.run = run,
};
