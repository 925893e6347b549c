#include "agent/process_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

/* An environment is as large as the kernel allows programs to be given. */
#define ENVIRON_CEILING ((size_t)4 << 20)
#define CONTAINER_ID	64
/* A process's attributes are kept as long as it runs, and sent with every window. */
#define TEXT_MAX	4096u

struct str attribute_find(struct str list, struct str key)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		size_t at = str_find(one, '=');

		if (at < one.n && str_eq(str_trim(str_n(one.p, at)), key))
			return str_trim(str_skip(one, at + 1));
	}
	return (struct str){0};
}

size_t attributes_unescape(char *text, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t value = 0;

		if (text[i] == '%' && n - i > 2 && isxdigit((unsigned char)text[i + 1]) &&
		    !str_to_u64(str_n(text + i + 1, 2), 16, &value) && value >= ' ' &&
		    value != ',') {
			text[to++] = (char)value;
			i += 2;
		} else {
			text[to++] = text[i];
		}
	}
	return to;
}

static bool is_id(struct str s)
{
	if (s.n != CONTAINER_ID)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!isxdigit((unsigned char)s.p[i]))
			return false;
	return true;
}

/* "docker-<id>.scope", "cri-containerd-<id>.scope", "<id>". */
static struct str id_in(struct str part)
{
	if (str_ends(part, STR(".scope")))
		part.n -= 6;
	/* The monitor of a container is not in it. */
	if (str_search(part, STR("conmon-")) < part.n)
		return (struct str){0};
	if (part.n > CONTAINER_ID &&
	    (part.p[part.n - CONTAINER_ID - 1] == '-' || part.p[part.n - CONTAINER_ID - 1] == ':'))
		part = str_skip(part, part.n - CONTAINER_ID);
	return is_id(part) ? part : (struct str){0};
}

/* One path: a unit above a container is that of the containers' manager. */
static void path_parse(struct str path, struct str *ret_container, struct str *ret_unit)
{
	struct str part;

	while (str_split(&path, '/', &part)) {
		struct str id = id_in(part);

		if (id.n) {
			*ret_container = id;
			*ret_unit = (struct str){0};
		}
		/* Everything a user runs is below that one. */
		if (str_ends(part, STR(".service")) && !str_starts(part, STR("user@")))
			*ret_unit = str_n(part.p, part.n - 8);
	}
}

void cgroup_parse(struct str text, struct str *ret_container, struct str *ret_unit)
{
	struct str line;

	*ret_container = *ret_unit = (struct str){0};
	while (str_split(&text, '\n', &line)) {
		struct str container = {0}, unit = {0};

		path_parse(str_skip(line, str_find(line, '/')), &container, &unit);
		/* Prefer a hierarchy with a container id. */
		if (container.n || (!ret_container->n && unit.n)) {
			*ret_container = container;
			*ret_unit = unit;
		}
	}
}

static enum err keep(struct arena *a, struct str s, struct str *ret)
{
	char *copy;

	*ret = (struct str){0};
	if (s.n > TEXT_MAX)
		s.n = TEXT_MAX;
	if (!s.n)
		return ERR_OK;
	copy = arena_copy(a, s);
	if (!copy)
		return ERR_NO_MEMORY;
	*ret = str_n(copy, s.n);
	return ERR_OK;
}

/* A thread that still has the process's memory: the first one may have ended before the others. */
static u32 living_thread(u32 pid)
{
	u64 tid = pid, one;
	struct dirent *entry;
	char path[40];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	threads = opendir(path);
	if (!threads)
		return pid;
	while (tid == pid && (entry = readdir(threads)))
		if (str_to_u64(str_of(entry->d_name), 10, &one) == ERR_OK)
			tid = one;
	closedir(threads);
	return (u32)tid;
}

enum err environment_parse(struct str text, struct arena *a, struct process_facts *ret,
			   struct str *ret_service)
{
	struct str one;

	while (str_split(&text, '\0', &one)) {
		if (str_starts(one, STR("OTEL_SERVICE_NAME=")))
			TRY(keep(a, str_skip(one, 18), ret_service));
		else if (str_starts(one, STR("OTEL_RESOURCE_ATTRIBUTES=")))
			TRY(keep(a, str_skip(one, 25), &ret->attributes));
	}
	ret->attributes.n = attributes_unescape((char *)ret->attributes.p, ret->attributes.n);
	return ERR_OK;
}

static enum err read_environment(u32 tid, struct arena *a, struct process_facts *ret,
				 struct str *ret_service)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(ENVIRON_CEILING);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/environ", tid);
	if (file_read(path, &text, NULL) != ERR_OK)
		return ERR_OK;
	return environment_parse(buf_view(&text), a, ret, ret_service);
}

static enum err keep_cgroup(struct str text, struct arena *a, struct process_facts *ret)
{
	struct str container, unit;

	cgroup_parse(text, &container, &unit);
	TRY(keep(a, container, &ret->container));
	return keep(a, unit, &ret->unit);
}

static enum err read_cgroup(u32 pid, struct arena *a, struct process_facts *ret)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(65536);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (file_read(path, &text, NULL) != ERR_OK)
		return ERR_OK;
	return keep_cgroup(buf_view(&text), a, ret);
}

/* Without memory it has no program: it has ended, or is exiting. */
static enum err read_program(u32 tid, struct arena *a, struct process_facts *ret)
{
	char path[40], target[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", tid);
	n = readlink(path, target, sizeof(target));
	ret->gone = n < 0 && (errno == ENOENT || errno == ESRCH);
	if (n <= 0)
		return ERR_OK;
	if (n > 10 && !memcmp(target + n - 10, " (deleted)", 10))
		n -= 10;
	return keep(a, str_n(target, (size_t)n), &ret->program);
}

static struct str base_name(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

/* Derives the remaining facts. */
static enum err name_service(struct str comm, struct str said, struct arena *arena,
			     struct process_facts *f)
{
	f->version = attribute_find(f->attributes, STR("service.version"));
	f->service = said;
	if (!f->service.n)
		f->service = attribute_find(f->attributes, STR("service.name"));
	f->said = f->service.n;
	if (!f->service.n)
		f->service = f->unit;
	if (!f->service.n)
		f->service = base_name(f->program);
	if (!f->service.n)
		TRY(keep(arena, comm.n ? comm : STR("unknown"), &f->service));
	return ERR_OK;
}

enum err process_facts_inherit(const struct process_facts *parent, bool copy, struct arena *arena,
			       struct process_facts *f)
{
	struct str said = {0};

	if (copy)
		TRY(keep(arena, parent->program, &f->program));
	TRY(keep(arena, parent->attributes, &f->attributes));
	TRY(keep(arena, parent->container, &f->container));
	TRY(keep(arena, parent->unit, &f->unit));
	if (parent->said)
		TRY(keep(arena, parent->service, &said));
	return name_service(f->service, said, arena, f);
}

enum err process_facts_read(u32 pid, struct str comm, struct str program,
			    const struct process_texts *texts, struct arena *arena,
			    struct process_facts *ret)
{
	struct process_facts f = {.read = true};
	struct str said = {0};
	u32 tid = pid;

	TRY(keep(arena, program, &f.program));
	TRY(read_program(tid, arena, &f));
	if (f.gone) {
		tid = living_thread(pid);
		TRY(read_program(tid, arena, &f));
	}
	if (texts && tid == pid) {
		TRY(environment_parse(texts->environment, arena, &f, &said));
		TRY(keep_cgroup(texts->cgroup, arena, &f));
	} else {
		TRY(read_environment(tid, arena, &f, &said));
		TRY(read_cgroup(tid, arena, &f));
	}
	TRY(name_service(comm, said, arena, &f));
	*ret = f;
	return ERR_OK;
}
