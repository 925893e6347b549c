/*
 * vestal backup: a copy of a running server's data.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/backup_receive.h"
#include "cli/client.h"
#include "cli/small_answer.h"

#define PART_CEILING ((size_t)5 << 20)

struct backup_options {
	struct common_options common;
	struct client_options client;
	bool on_server;
};

static const struct option table[] = {
	{"on-server", 0, OPT_FLAG, NULL,
	 "let the server write it, into the new folder DIR (a plain name) of its --backup-dir",
	 AT(struct backup_options, on_server), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", client_table, AT(struct backup_options, client)},
	{"Connection options", connection_table, AT(struct backup_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal backup copy-of-today",
	 "everything, while the server runs, into a new folder here"},
	{0},
};

static void set_defaults(void *options)
{
	struct backup_options *o = options;

	o->client.timeout = 3600; /* of a large store it takes its time */
}

/* The damaged parts that the backup lacks: how many, and the names of the first ones. */
struct missing {
	uint64_t n;
	struct json_mark named;
};

/* The files of the backup, as listed by the server. */
struct listed {
	struct reading reading;
	struct json json;
	struct arena arena;
	struct str id;
	struct json_mark files;
	struct missing missing;
};

static int failed(enum err e, const struct fault *fault)
{
	return complain(status_of(e), "%s", fault->text[0] ? fault->text : err_text(e));
}

static void listed_release(struct listed *l)
{
	json_release(&l->json);
	arena_release(&l->arena);
}

/* Whether the member is about that. */
static bool read_missing(struct json *j, struct str key, struct missing *ret)
{
	if (str_eq(key, STR("damaged_parts")))
		json_u64(j, &ret->n);
	else if (str_eq(key, STR("damaged")))
		json_mark_skip(j, &ret->named);
	else
		return false;
	return true;
}

/* The exit status. */
static int say_missing(struct json *j, const struct missing *m, struct arena *arena)
{
	struct str text;

	if (!m->n)
		return EXIT_OK;
	if (m->named.p) {
		json_seek(j, &m->named);
		if (json_array(j))
			while (json_item(j)) {
				json_string_keep(j, arena, &text);
				if (!j->error)
					complain(EXIT_BAD_DATA, "%.*s", (int)text.n, text.p);
			}
	}
	return complain(EXIT_BAD_DATA,
			"the backup is not whole: %llu damaged file%s; everything else is in it",
			(unsigned long long)m->n, m->n == 1 ? "" : "s");
}

static int read_list(const struct buf *answer, struct listed *l)
{
	struct str key;

	l->reading = (struct reading){.limits = LIMITS_DEFAULT};
	json_init(&l->json, buf_view(answer), "answer", 16, &l->reading);
	if (json_object(&l->json))
		while (json_key(&l->json, &key)) {
			if (str_eq(key, STR("id")))
				json_string_keep(&l->json, &l->arena, &l->id);
			else if (str_eq(key, STR("files")))
				json_mark_skip(&l->json, &l->files);
			else if (!read_missing(&l->json, key, &l->missing))
				json_skip(&l->json);
		}
	if (l->json.error || !l->id.n || !l->files.p)
		return complain(EXIT_UNAVAILABLE, "the server's answer is not understood: is it an "
						  "older vestal?");
	return EXIT_OK;
}

static int fetch_part(const struct backup_options *o, struct str id, uint64_t file, uint64_t offset,
		      struct buf *ret)
{
	CLEANUP(call_release) struct call c = {0};
	char number[24];

	call_init(&c, &o->client, "/api/v1/backup/file");
	call_param(&c, "id", id);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)file);
	call_param_text(&c, "file", number);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)offset);
	call_param_text(&c, "offset", number);
	return client_get(&c, ret);
}

static int fetch_bytes(const struct backup_options *o, struct str id, uint64_t file, uint64_t bytes,
		       int fd)
{
	CLEANUP(buf_release) struct buf part = BUF_INIT(PART_CEILING);

	for (uint64_t got = 0; got < bytes; got += part.n) {
		int status;

		buf_clear(&part);
		status = fetch_part(o, id, file, got, &part);
		if (status)
			return status;
		if (!part.n || part.n > bytes - got)
			return complain(EXIT_UNAVAILABLE, "a file of the backup has another size "
							  "than reported by the server");
		if (write_all(fd, part.data, part.n) != ERR_OK)
			return complain(EXIT_OS, "the backup cannot be written: %s",
					strerror(errno));
	}
	return fsync(fd) ? complain(EXIT_OS, "the backup cannot be written: %s", strerror(errno))
			 : EXIT_OK;
}

static int fetch_file(const struct backup_options *o, const struct listed *l, uint64_t number,
		      struct str path, uint64_t bytes, const struct backup_receive *to)
{
	struct fault fault = {0};
	int fd, status;
	enum err e = backup_receive_file(to, path, &fd, &fault);

	if (e)
		return failed(e, &fault);
	status = fetch_bytes(o, l->id, number, bytes, fd);
	if (close(fd) && !status)
		status = complain(EXIT_OS, "the backup cannot be written: %s", strerror(errno));
	return status;
}

static int fetch_files(const struct backup_options *o, struct listed *l,
		       const struct backup_receive *to)
{
	struct json *j = &l->json;
	uint64_t number = 0;
	int status = EXIT_OK;

	json_seek(j, &l->files);
	if (!json_array(j))
		return complain(EXIT_UNAVAILABLE, "the server's answer is not understood");
	while (!status && json_item(j)) {
		struct str key, path = {0};
		uint64_t bytes = 0;

		if (json_object(j))
			while (json_key(j, &key)) {
				if (str_eq(key, STR("path")))
					json_string_keep(j, &l->arena, &path);
				else if (str_eq(key, STR("bytes")))
					json_u64(j, &bytes);
				else
					json_skip(j);
			}
		if (!j->error)
			status = fetch_file(o, l, number++, path, bytes, to);
	}
	if (!status && j->error)
		status = complain(EXIT_UNAVAILABLE, "the server's answer is not understood");
	return status;
}

/* The server removes its copy now, and not only in ten minutes. */
static void end_fetching(const struct backup_options *o, struct str id)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	struct client_failure failure;
	struct str nothing = {0};

	call_init(&c, &o->client, "/api/v1/backup/end");
	call_param(&c, "id", id);
	if (client_ask(&c, &nothing, &answer, &failure) != ERR_OK)
		complain(EXIT_OK, "the server keeps its copy for ten minutes: %s",
			 failure.fault.text);
}

static int fetch_into(const struct backup_options *o, const struct buf *answer,
		      struct backup_receive *to)
{
	CLEANUP(listed_release) struct listed l = {0};
	struct fault fault = {0};
	enum err e;
	int status;

	arena_init(&l.arena, (size_t)256 << 20);
	status = read_list(answer, &l);
	if (status)
		return status;
	status = fetch_files(o, &l, to);
	end_fetching(o, l.id);
	if (status)
		return status;
	e = backup_receive_end(to, &fault);
	return e ? failed(e, &fault) : say_missing(&l.json, &l.missing, &l.arena);
}

static int fetch(const struct backup_options *o, const char *path)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT((size_t)256 << 20);
	CLEANUP(call_release) struct call c = {0};
	struct backup_receive to;
	struct fault fault = {0};
	enum err e = backup_receive_begin(&to, path, &fault);
	int status;

	if (e)
		return failed(e, &fault);
	call_init(&c, &o->client, "/api/v1/backup");
	call_param_text(&c, "partial", "true");
	status = client_post(&c, (struct str){0}, &answer);
	if (!status)
		status = fetch_into(o, &answer, &to);
	backup_receive_drop(&to);
	if (!status)
		say(&o->common, "backed up to %s; vestal check verifies it", path);
	return status;
}

static int read_written(const struct buf *answer)
{
	CLEANUP(listed_release) struct listed l = {0};
	struct str key;

	arena_init(&l.arena, 1 << 20);
	l.reading = (struct reading){.limits = LIMITS_DEFAULT};
	json_init(&l.json, buf_view(answer), "answer", 16, &l.reading);
	if (json_object(&l.json))
		while (json_key(&l.json, &key))
			if (!read_missing(&l.json, key, &l.missing))
				json_skip(&l.json);
	if (l.json.error)
		return complain(EXIT_UNAVAILABLE, "the server's answer is not understood");
	return say_missing(&l.json, &l.missing, &l.arena);
}

static int let_server_write(const struct backup_options *o, const char *name)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	int status;

	call_init(&c, &o->client, "/api/v1/backup");
	call_param_text(&c, "name", name);
	call_param_text(&c, "partial", "true");
	status = client_post(&c, (struct str){0}, &answer);
	if (!status)
		status = read_written(&answer);
	if (!status)
		say(&o->common, "backed up to %s in the server's --backup-dir", name);
	return status;
}

static int run(struct invocation *in)
{
	const struct backup_options *o = in->options;

	if (in->arguments.n != 1)
		return complain_usage(in, "where to? vestal backup DIR");
	return o->on_server ? let_server_write(o, in->arguments.v[0])
			    : fetch(o, in->arguments.v[0]);
}

const struct command command_backup = {
	.name = "backup",
	.summary = "copy the data of a running server",
	.arguments = "DIR",
	.examples = examples,
	.description =
		"Fetches a copy of all data of the server, each tenant as of one moment, into a "
		"new directory here, while the server keeps working. It is written with the "
		"permissions of the user who runs this command, and readable by that user only. "
		"Until it is fetched, the server keeps the copy next to its data, so its disk "
		"needs space for it. A server started with --data on the copy has the same "
		"profiles.\n\n"
		"A file that is too damaged to be copied is left out; one with known damage is "
		"copied with it. Each is named, and the exit status is 65.\n\n"
		"With --on-server a server with --backup-dir writes it itself, into a new "
		"directory there. That requires a token with the right admin of the tenant "
		"anonymous or, if there are no tokens, a unix socket and the server's own user or "
		"root.",
	.groups = groups,
	.options_size = sizeof(struct backup_options),
	.defaults = set_defaults,
	.run = run,
};
