/*
 * vestal doctor: what this machine allows, what is missing, and the line that helps.
 */
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/jsonout.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "cli/term.h"
#include "net/net.h"

#define EXIT_MISSING   1
#define SERVER_SECONDS 5.0

struct doctor_options {
	struct common_options common;
	const char *server;
	bool json;
};

static const struct option table[] = {
	{"server", 's', OPT_TEXT, "URL", "also whether a server answers there",
	 AT(struct doctor_options, server), NULL},
	{"json", 0, OPT_FLAG, NULL, "as JSON (docs/json.md)", AT(struct doctor_options, json),
	 NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal doctor", "check what this user may profile"},
	{"sudo vestal doctor", "the same for root"},
	{"vestal doctor --server http://127.0.0.1:4318", "and whether profiles can be sent"},
	{0},
};

static const char *const states[] = {"ok", "missing", "note"};

static enum err check_server(const char *url, struct findings *f)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	struct fetch_failure failure = {0};
	struct fault fault = {0};
	struct fetch request = {.url = url,
				.user_agent = "vestal/" VESTAL_VERSION,
				.timeout = SERVER_SECONDS,
				.unattended = true,
				.failure = &failure};
	enum err e = fetch(&request, &answer, &fault);

	/* Any answer is one: a collector may have nothing at "/". */
	if (!e || failure.status || e == ERR_TOO_LARGE)
		return finding_add(f, "server", FINDING_OK, url, NULL);
	if (e == ERR_NO_MEMORY)
		return e;
	return finding_add(f, "server", FINDING_MISSING, fault.text,
			   "start it (vestal up), or check the address and the firewall");
}

static void put_json(const struct findings *f, struct buf *out)
{
	struct jsonout o = jsonout_of(out, true);

	jsonout_object(&o);
	jsonout_put_text(&o, "schema", "vestal.doctor/1");
	jsonout_put_bool(&o, "well", findings_well(f));
	jsonout_put_array(&o, "findings");
	vec_for_each (one, &f->list) {
		jsonout_object(&o);
		jsonout_put_text(&o, "name", one->name);
		jsonout_put_text(&o, "state", states[one->state]);
		jsonout_put_text(&o, "text", one->text);
		if (one->fix[0])
			jsonout_put_text(&o, "fix", one->fix);
		jsonout_end_object(&o);
	}
	jsonout_end_array(&o);
	jsonout_end_object(&o);
	buf_byte(out, '\n');
}

static void put_text(const struct findings *f, bool color, struct buf *out)
{
	static const char *const colors[] = {COLOR_GREEN, COLOR_RED, COLOR_DIM};

	vec_for_each (one, &f->list) {
		buf_printf(out, "%s%-7s%s  %-14s  %s\n", color ? colors[one->state] : "",
			   states[one->state], color ? COLOR_RESET : "", one->name, one->text);
		if (one->fix[0])
			buf_printf(out, "%25s  -> %s\n", "", one->fix);
	}
	if (findings_well(f))
		buf_text(out, "Nothing is missing.\n");
}

static int run(struct invocation *in)
{
	CLEANUP(findings_release) struct findings found = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	const struct doctor_options *o = in->options;
	enum err e;
	int status;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	if (o->server && !fetch_is_url(str_of(o->server)))
		return complain_usage(in, "--server %s is no URL", o->server);
	e = doctor_examine(&found);
	if (!e && o->server)
		e = check_server(o->server, &found);
	if (e)
		return complain(status_of(e), "%s", err_text(e));
	if (o->json)
		put_json(&found, &out);
	else
		put_text(&found, term_color(STDOUT_FILENO, o->common.color), &out);
	status = sink_stdout(&out);
	return status ? status : findings_well(&found) ? EXIT_OK : EXIT_MISSING;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check what this machine allows, what is missing, and how to fix it",
	.arguments = "",
	.examples = examples,
	.description = "Tries everything that record, live and agent need: loads and attaches the "
		       "BPF programs, opens perf events, looks for the kernel's types and symbols. "
		       "Each line is ok, missing or a note, followed by a fix if something is "
		       "missing. Nothing is changed, and nothing stays loaded. At the end it lists "
		       "user, capabilities, no_new_privs, seccomp and Landlock of each running "
		       "process of Vestal (docs/security.md has the expected values).\n\n"
		       "The exit status is 0 if nothing is missing, else 1.",
	.groups = groups,
	.options_size = sizeof(struct doctor_options),
	.words = "",
	.run = run,
};
