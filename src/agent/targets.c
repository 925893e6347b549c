#include "agent/targets.h"

#include <pwd.h>

void targets_release(struct targets *t)
{
	vec_release(&t->list);
}

enum err uid_parse(struct str text, int64_t *ret)
{
	struct passwd entry, *found = NULL;
	char name[64], room[4096];
	u64 number;

	if (str_to_u64(text, 10, &number) == ERR_OK && number < UINT32_MAX) {
		*ret = (int64_t)number;
		return ERR_OK;
	}
	if (!text.n || text.n >= sizeof(name))
		return ERR_NOT_FOUND;
	memcpy(name, text.p, text.n);
	name[text.n] = 0;
	if (getpwnam_r(name, &entry, room, sizeof(room), &found) || !found)
		return ERR_NOT_FOUND;
	*ret = found->pw_uid;
	return ERR_OK;
}

static enum err parse_number(const char *value, u32 *ret)
{
	u64 number;

	if (str_to_u64(str_of(value), 10, &number) != ERR_OK || !number || number > INT32_MAX)
		return ERR_BAD_ARGUMENT;
	*ret = (u32)number;
	return ERR_OK;
}

enum err target_parse(const char *text, struct target *ret, struct fault *fault)
{
	struct target t = TARGET_ANY;
	const char *value = strchr(text, '='), *second;
	struct str kind = str_n(text, value ? (size_t)(value - text) : 0);
	enum err e = ERR_OK;

	value = value ? value + 1 : text;
	if (str_eq(kind, STR("name")) && *value)
		t.name = value;
	else if (str_eq(kind, STR("cgroup")) && *value)
		t.cgroup = value;
	else if (str_eq(kind, STR("pid")))
		e = parse_number(value, &t.pid);
	else if (str_eq(kind, STR("uid")))
		e = uid_parse(str_of(value), &t.uid);
	else if (str_eq(kind, STR("label")) && (second = strchr(value, '=')) && second > value)
		t.labels[t.label_count++] = (struct target_label){value, second + 1};
	else
		e = ERR_BAD_ARGUMENT;
	if (e)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%.100s is no target: name=N, pid=N, uid=USER, cgroup=PATH or "
				 "label=KEY=VALUE",
				 text);
	*ret = t;
	return ERR_OK;
}

enum err targets_add(struct targets *t, const struct target *one, struct fault *fault)
{
	if (t->list.n == TARGETS_MAX)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d targets", TARGETS_MAX);
	return vec_push(&t->list, *one);
}

bool target_is_pid(const struct target *t)
{
	return t->pid && t->uid < 0 && !t->name && !t->cgroup && !t->label_count;
}

bool targets_only_pids(const struct targets *t)
{
	vec_for_each (one, &t->list)
		if (!target_is_pid(one))
			return false;
	return true;
}

/* A label's name ends at the "=" when both came as one text. */
static struct str label_name(const struct target_label *l)
{
	return str_n(l->name, strcspn(l->name, "="));
}

static bool name_matches(const struct process_look *look, const char *name)
{
	struct str program = look->facts->program;
	size_t slash = str_rfind(program, '/');

	return str_eq(look->comm, str_of(name)) ||
	       (slash < program.n && str_eq(str_skip(program, slash + 1), str_of(name)));
}

static bool target_matches(const struct target *t, struct process_look *look)
{
	u32 uid;

	for (u32 i = 0; i < t->label_count; i++)
		if (!str_eq(look_label(look, label_name(&t->labels[i])),
			    str_of(t->labels[i].value)))
			return false;
	return (!t->pid || t->pid == look->pid) && (!t->name || name_matches(look, t->name)) &&
	       (t->uid < 0 || (look_uid(look, &uid) && uid == t->uid)) &&
	       (!t->cgroup || cgroup_matches(look_cgroup(look), str_of(t->cgroup)));
}

bool targets_match(const struct targets *t, struct process_look *look)
{
	vec_for_each (one, &t->list)
		if (target_matches(one, look))
			return true;
	return !t->list.n;
}

bool targets_match_name(const struct targets *t, u32 pid, struct str comm)
{
	vec_for_each (one, &t->list)
		if (one->uid < 0 && !one->cgroup && !one->label_count &&
		    (!one->pid || one->pid == pid) &&
		    (!one->name || str_eq(comm, str_of(one->name))))
			return true;
	return false;
}

static void separate(struct buf *to, size_t from)
{
	if (to->n > from)
		buf_byte(to, ',');
}

void target_text(const struct target *t, struct buf *to)
{
	size_t from = to->n;

	if (t->pid)
		buf_printf(to, "pid=%u", t->pid);
	if (t->uid >= 0) {
		separate(to, from);
		buf_printf(to, "uid=%lld", (long long)t->uid);
	}
	if (t->name) {
		separate(to, from);
		buf_printf(to, "name=%s", t->name);
	}
	if (t->cgroup) {
		separate(to, from);
		buf_printf(to, "cgroup=%s", t->cgroup);
	}
	for (u32 i = 0; i < t->label_count; i++) {
		separate(to, from);
		buf_printf(to, "label=%.*s=%s", (int)label_name(&t->labels[i]).n, t->labels[i].name,
			   t->labels[i].value);
	}
}
