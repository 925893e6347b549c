#include "cli/target_options.h"

const struct option target_table[] = {
	{"pid", 'p', OPT_LIST, "PID", "a process; each of these may be given several times",
	 AT(struct target_options, pids), NULL},
	{"name", 'n', OPT_LIST, "NAME", "processes of that name, or whose program is called so",
	 AT(struct target_options, names), NULL},
	{"uid", 'u', OPT_LIST, "USER", "processes of a user, by number or name",
	 AT(struct target_options, uids), NULL},
	{"cgroup", 0, OPT_LIST, "GROUP",
	 "processes of a control group: a path, a unit such as nginx.service, a container's id",
	 AT(struct target_options, cgroups), NULL},
	{"label", 0, OPT_LIST, "KEY=VALUE",
	 "processes with that label, such as service.name=shop (OTEL_RESOURCE_ATTRIBUTES)",
	 AT(struct target_options, labels), NULL},
	{0},
};

bool target_options_any(const struct target_options *o)
{
	return o->pids.n || o->names.n || o->uids.n || o->cgroups.n || o->labels.n;
}

static bool is_pid(const char *text)
{
	u64 pid;

	return str_to_u64(str_of(text), 10, &pid) == ERR_OK && pid && pid <= INT32_MAX;
}

static int add(const struct invocation *in, struct targets *to, const struct target *one)
{
	struct fault fault = {0};

	return targets_add(to, one, &fault) == ERR_OK ? EXIT_OK
						      : complain_usage(in, "%s", fault.text);
}

static int add_pid(const struct invocation *in, struct targets *to, const char *text)
{
	struct target t = TARGET_ANY;
	u64 pid;

	if (!is_pid(text) || str_to_u64(str_of(text), 10, &pid) != ERR_OK)
		return complain(EXIT_USAGE, "-p %s is no process", text);
	t.pid = (u32)pid;
	return add(in, to, &t);
}

static int add_uid(const struct invocation *in, struct targets *to, const char *text)
{
	struct target t = TARGET_ANY;

	if (uid_parse(str_of(text), &t.uid) != ERR_OK)
		return complain_usage(in, "--uid %s: there is no such user", text);
	return add(in, to, &t);
}

static int add_label(const struct invocation *in, struct targets *to, const char *text)
{
	const char *equals = strchr(text, '=');
	struct target t = TARGET_ANY;

	if (!equals || equals == text)
		return complain_usage(in, "--label takes KEY=VALUE, not %s", text);
	t.labels[t.label_count++] = (struct target_label){text, equals + 1};
	return add(in, to, &t);
}

int target_options_read(const struct invocation *in, const struct target_options *o,
			struct targets *ret)
{
	int status = EXIT_OK;

	for (size_t i = 0; !status && i < o->pids.n; i++)
		status = add_pid(in, ret, o->pids.v[i]);
	for (size_t i = 0; !status && i < o->names.n; i++)
		status = add(in, ret, &(struct target){.uid = -1, .name = o->names.v[i]});
	for (size_t i = 0; !status && i < o->uids.n; i++)
		status = add_uid(in, ret, o->uids.v[i]);
	for (size_t i = 0; !status && i < o->cgroups.n; i++)
		status = add(in, ret, &(struct target){.uid = -1, .cgroup = o->cgroups.v[i]});
	for (size_t i = 0; !status && i < o->labels.n; i++)
		status = add_label(in, ret, o->labels.v[i]);
	return status;
}
