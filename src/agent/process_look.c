#include "agent/process_look.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

#define COMMAND_CEILING	    ((size_t)1 << 20)
#define CGROUP_CEILING	    ((size_t)64 << 10)
#define ENVIRONMENT_CEILING ((size_t)4 << 20)
#define CONTAINER_DIGITS    12
#define CGROUP_ROOT	    STR("/sys/fs/cgroup")

struct process_look process_look_at(u32 pid, struct str comm, const struct process_facts *facts)
{
	return (struct process_look){.pid = pid,
				     .comm = comm,
				     .facts = facts,
				     .command = BUF_INIT(COMMAND_CEILING),
				     .cgroup = BUF_INIT(CGROUP_CEILING),
				     .environment = BUF_INIT(ENVIRONMENT_CEILING)};
}

void process_look_release(struct process_look *l)
{
	buf_release(&l->command);
	buf_release(&l->cgroup);
	buf_release(&l->environment);
}

static struct str read_once(const struct process_look *l, const char *name, bool *have,
			    struct buf *to)
{
	char path[60];

	if (!*have) {
		*have = true;
		snprintf(path, sizeof(path), "/proc/%u/%s", l->pid, name);
		if (file_read(path, to, NULL) != ERR_OK)
			buf_clear(to);
	}
	return buf_view(to);
}

struct str look_command(struct process_look *l)
{
	bool first = !l->have_command;
	struct str text = read_once(l, "cmdline", &l->have_command, &l->command);

	for (size_t i = 0; first && i < text.n; i++)
		if (!l->command.data[i])
			l->command.data[i] = ' ';
	return str_trim(text);
}

struct str look_cgroup(struct process_look *l)
{
	return read_once(l, "cgroup", &l->have_cgroup, &l->cgroup);
}

bool look_variable(struct process_look *l, struct str name, struct str *ret)
{
	struct str rest = read_once(l, "environ", &l->have_environment, &l->environment), one;

	while (str_split(&rest, '\0', &one)) {
		if (one.n <= name.n || one.p[name.n] != '=' || !str_starts(one, name))
			continue;
		*ret = str_skip(one, name.n + 1);
		return true;
	}
	return false;
}

bool look_uid(const struct process_look *l, u32 *ret)
{
	struct stat info;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u", l->pid);
	if (stat(path, &info))
		return false;
	*ret = info.st_uid;
	return true;
}

struct str look_label(const struct process_look *l, struct str name)
{
	const struct process_facts *f = l->facts;
	struct str rest = f->labels, one;

	while (str_split(&rest, '\n', &one)) {
		size_t at = str_find(one, '=');

		if (at < one.n && str_eq(str_n(one.p, at), name))
			return str_skip(one, at + 1);
	}
	if (str_eq(name, STR("service.name")))
		return f->service;
	if (str_eq(name, STR("container.id")))
		return f->container;
	if (str_eq(name, STR("systemd.unit")))
		return f->unit;
	if (str_eq(name, STR("process.executable.path")))
		return f->program;
	return attribute_find(f->attributes, name);
}

/* "/a/b" holds "/a/b" and "/a/b/c", not "/a/bc". */
static bool is_below(struct str path, struct str above)
{
	while (above.n > 1 && above.p[above.n - 1] == '/')
		above.n--;
	if (str_eq(above, STR("/")))
		return true;
	return above.n && str_starts(path, above) && (path.n == above.n || path.p[above.n] == '/');
}

/* Below /sys/fs/cgroup lies the one hierarchy, or a folder for each of the older ones. */
static bool path_matches(struct str path, struct str wanted)
{
	struct str below;

	if (!str_starts(wanted, CGROUP_ROOT))
		return is_below(path, wanted);
	below = str_skip(wanted, CGROUP_ROOT.n);
	if (is_below(path, below))
		return true;
	below = str_skip(below, 1);
	below = str_skip(below, str_find(below, '/'));
	return below.n > 1 && is_below(path, below);
}

static bool part_matches(struct str path, struct str wanted)
{
	struct str part;

	while (str_split(&path, '/', &part))
		if (str_eq(part, wanted))
			return true;
	return false;
}

bool cgroup_matches(struct str text, struct str wanted)
{
	struct str container, unit, rest = text, line;

	if (!wanted.n)
		return false;
	cgroup_parse(text, &container, &unit);
	if (wanted.n >= CONTAINER_DIGITS && str_starts(container, wanted))
		return true;
	while (str_split(&rest, '\n', &line)) {
		struct str path = str_skip(line, str_find(line, '/'));

		if (wanted.p[0] == '/' ? path_matches(path, wanted) : part_matches(path, wanted))
			return true;
	}
	return false;
}
