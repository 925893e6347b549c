/*
 * vestal token: who may talk to a server.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/serve.h"
#include "cli/sink.h"
#include "cli/table.h"
#include "cli/term.h"

struct token_options {
	struct common_options common;
	const char *data, *file, *tenant, *name;
	bool read, write, admin, operator_;
};

static const struct option table[] = {
	{"data", 'd', OPT_TEXT, "DIR", "data directory of the server (./" SERVE_DATA ")",
	 AT(struct token_options, data), NULL},
	{"file", 0, OPT_TEXT, "FILE", "the token file (DIR/tokens)", AT(struct token_options, file),
	 NULL},
	{"tenant", 0, OPT_TEXT, "NAME", "tenant that it gives access to (anonymous)",
	 AT(struct token_options, tenant), NULL},
	{"read", 0, OPT_FLAG, NULL, "may query", AT(struct token_options, read), NULL},
	{"write", 0, OPT_FLAG, NULL, "may send profiles; with none of the three: --read --write",
	 AT(struct token_options, write), NULL},
	{"admin", 0, OPT_FLAG, NULL, "may also delete, and back up if the tenant is anonymous",
	 AT(struct token_options, admin), NULL},
	{"operator", 0, OPT_FLAG, NULL,
	 "may see the metrics of the whole server (/metrics), and nothing else",
	 AT(struct token_options, operator_), NULL},
	{"name", 0, OPT_TEXT, "TEXT", "a name for the list of tokens",
	 AT(struct token_options, name), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal token create --name laptop", "may read and write; prints the token, once"},
	{"vestal token create --write --tenant shop --name ci", "may only send"},
	{"vestal token create --operator --name prometheus", "may see /metrics of all tenants"},
	{"vestal token list", "lists ids, names and rights; only hashes of the tokens are stored"},
	{0},
};

static void set_defaults(void *options)
{
	struct token_options *o = options;

	o->data = SERVE_DATA;
	o->tenant = "anonymous";
	o->name = "";
}

static int failed(enum err e, const struct fault *fault)
{
	return complain(status_of(e), "%s", fault->text[0] ? fault->text : err_text(e));
}

static unsigned rights_of(const struct token_options *o)
{
	if (!o->read && !o->write && !o->admin && !o->operator_)
		return TOKEN_READ | TOKEN_WRITE;
	return (o->read ? TOKEN_READ : 0u) | (o->write ? TOKEN_WRITE : 0u) |
	       (o->admin ? TOKEN_READ | TOKEN_WRITE | TOKEN_ADMIN : 0u) |
	       (o->operator_ ? TOKEN_OPERATOR : 0u);
}

/*
 * Root changes files of the server's user as that user: they stay its own, and no link in its
 * folder leads root elsewhere. From here on the folder is the current one: above it that user may
 * not get.
 */
static bool act_as_owner(char *path)
{
	size_t slash = str_rfind(str_of(path), '/');
	struct stat st;

	if (geteuid() || !path[slash])
		return true;
	path[slash] = '\0';
	if (stat(slash ? path : "/", &st) || !st.st_uid) {
		path[slash] = '/';
		return true;
	}
	if (chdir(path) || setegid(st.st_gid) || seteuid(st.st_uid))
		return false;
	memmove(path, path + slash + 1, strlen(path + slash + 1) + 1);
	return true;
}

static int create(const struct token_options *o, const char *path)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(1024);
	struct fault fault = {0};
	enum err e;

	e = token_create(path, str_of(o->tenant), rights_of(o), str_of(o->name), &token, &fault);
	if (e)
		return failed(e, &fault);
	say(&o->common, "this is the only time it is shown; the server asks for it from now on:");
	buf_byte(&token, '\n');
	return sink_stdout(&token);
}

static void put_token(void *context, const struct token_info *t)
{
	struct table *table_ = context;
	char when[CLOCK_TEXT_SIZE], rights[TOKEN_RIGHTS_ROOM];

	table_cell(table_, str_of(t->id), NULL);
	table_cell(table_, str_of(t->tenant), NULL);
	table_cell(table_, str_of(token_rights_text(t->rights, " ", rights)), NULL);
	table_cell(table_, str_of(clock_format(t->created * NS_PER_S, 0, when)), NULL);
	table_cell(table_, str_of(t->name), NULL);
}

static int list(const struct token_options *o, const char *path)
{
	static const struct column columns[] = {
		{"id", ALIGN_LEFT, 16},	     {"tenant", ALIGN_LEFT, 8}, {"may", ALIGN_LEFT, 16},
		{"created", ALIGN_LEFT, 20}, {"name", ALIGN_LEFT, 0},
	};
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 24);
	CLEANUP(table_release) struct table t;
	struct fault fault = {0};
	enum err e;

	table_init(&t, columns, 5, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, o->common.color));
	e = token_list(path, put_token, &t, &fault);
	if (e == ERR_NOT_FOUND)
		return complain(EXIT_NO_INPUT, "%s: there are no tokens yet", path);
	if (e)
		return failed(e, &fault);
	table_print(&t, &out);
	return sink_stdout(&out);
}

static int revoke_all(const struct token_options *o, const char *path, const struct text_list *ids)
{
	struct fault fault = {0};

	for (size_t i = 0; i < ids->n; i++) {
		enum err e = token_revoke(path, str_of(ids->v[i]), &fault);

		if (e)
			return failed(e, &fault);
		say(&o->common, "%s opens nothing any more", ids->v[i]);
		if (fault.text[0])
			say(&o->common, "%s", fault.text);
		fault = (struct fault){0};
	}
	return EXIT_OK;
}

static int obey(struct invocation *in, const char *path)
{
	const struct token_options *o = in->options;
	const char *what = in->arguments.n ? in->arguments.v[0] : "";
	struct text_list rest = {in->arguments.v + 1, in->arguments.n ? in->arguments.n - 1 : 0, 0};

	if (strcmp(what, "create") == 0 && !rest.n)
		return create(o, path);
	if (strcmp(what, "list") == 0 && !rest.n)
		return list(o, path);
	if (strcmp(what, "revoke") == 0 && rest.n)
		return revoke_all(o, path, &rest);
	return complain_usage(in, "create, list, or revoke ID");
}

static int run(struct invocation *in)
{
	const struct token_options *o = in->options;
	bool creates = in->arguments.n == 1 && !strcmp(in->arguments.v[0], "create");
	char path[4096];
	uid_t before = geteuid();
	int status;

	if (o->file)
		snprintf(path, sizeof(path), "%s", o->file);
	else
		snprintf(path, sizeof(path), "%s/tokens", o->data);
	/* Before the server's first start there is no such folder yet. */
	if (!o->file && creates)
		mkdir(o->data, 0700);
	if (!act_as_owner(path))
		return complain(EXIT_OS, "%s cannot be entered as its owner: %s", o->data,
				strerror(errno));
	status = obey(in, path);
	return seteuid(before) ? complain(EXIT_OS, "%s", strerror(errno)) : status;
}

const struct command command_token = {
	.name = "token",
	.summary = "create, list and revoke a server's access tokens",
	.arguments = "create|list|revoke ID",
	.examples = examples,
	.description =
		"A server with tokens refuses requests without one. Tokens are stored next to the "
		"data, as hashes: a copy of that file grants no access. A running server applies "
		"new tokens, also the first one, and revoked ones with the next request.\n\n"
		"Clients send \"Authorization: Bearer TOKEN\"; vestal takes it from --token, "
		"--token-file or VESTAL_TOKEN.",
	.groups = groups,
	.options_size = sizeof(struct token_options),
	.defaults = set_defaults,
	.words = "create list revoke",
	.run = run,
};
