/*
 * vestal backup: a copy of a running server's data.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/client.h"

struct backup_options {
	struct common_options common;
	struct client_options client;
};

static const struct option_group groups[] = {
	{"Server", client_table, AT(struct backup_options, client)},
	{"Connection options", connection_table, AT(struct backup_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal backup copy-of-today", "everything, while the server runs"},
	{0},
};

static void set_defaults(void *options)
{
	struct backup_options *o = options;

	o->client.timeout = 3600; /* of a large store it takes its time */
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	const struct backup_options *o = in->options;
	char here[2048], path[4096];
	int status;

	if (in->arguments.n != 1)
		return complain_usage(in, "where to? vestal backup DIR");
	if (in->arguments.v[0][0] == '/')
		snprintf(path, sizeof(path), "%s", in->arguments.v[0]);
	else if (getcwd(here, sizeof(here)))
		snprintf(path, sizeof(path), "%s/%s", here, in->arguments.v[0]);
	else
		return complain(EXIT_OS, "the current folder has no path any more");
	call_init(&c, &o->client, "/api/v1/backup");
	call_param_text(&c, "destination", path);
	status = client_post(&c, (struct str){0}, &answer);
	if (!status)
		say(&o->common, "backed up to %s on the server's host; vestal check verifies it",
		    path);
	return status;
}

const struct command command_backup = {
	.name = "backup",
	.summary = "copy the data of a running server",
	.arguments = "DIR",
	.examples = examples,
	.description =
		"Makes the server copy everything it keeps, as of one moment, into a new folder on "
		"its own host, while it goes on receiving and answering. A server started with "
		"--data on the copy has the same profiles.",
	.groups = groups,
	.options_size = sizeof(struct backup_options),
	.defaults = set_defaults,
	.run = run,
};
