#include "cli/symbol_sending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/small_answer.h"

#define PART_BYTES ((size_t)8 << 20)
#define DEPTH_MAX  64
#define LIST_MAX   ((size_t)64 << 20)

/* ------------------------------------------------------------------ what is there */

static void read_file_entry(struct json *j, struct symbol_sending *s)
{
	struct symbol_item item = {0};
	struct json_number n = {0};
	struct str key, text;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("build_id")) && json_string(j, &text)) {
			if (build_id_valid(text))
				memcpy(item.build_id, text.p, text.n);
		} else if (str_eq(key, STR("kind")) && json_string(j, &text)) {
			item.debug = str_eq(text, STR("debug"));
		} else if (str_eq(key, STR("size")) && json_number(j, &n)) {
			item.size = n.kind == JSON_I64 ? (uint64_t)n.i : 0;
		} else if (str_eq(key, STR("kept_ns")) && json_number(j, &n)) {
			item.kept_s = n.kind == JSON_I64 ? n.i / 1000000000 : 0;
		} else {
			json_skip(j);
		}
	}
	if (item.build_id[0] && vec_push(&s->there, item) != ERR_OK)
		j->error = ERR_NO_MEMORY;
}

int symbol_list_read(const struct buf *answer, struct symbol_sending *ret)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct json j;
	struct str key;

	json_init(&j, buf_view(answer), "answer", 16, &r);
	if (json_object(&j))
		while (json_key(&j, &key)) {
			if (!str_eq(key, STR("files")) || !json_array(&j)) {
				json_skip(&j);
				continue;
			}
			while (json_item(&j))
				read_file_entry(&j, ret);
		}
	return answer_read(&j, &r);
}

int symbol_sending_begin(struct symbol_sending *s)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(LIST_MAX);
	CLEANUP(call_release) struct call c = {0};
	int status;

	call_init(&c, s->client, "/api/v1/symbols");
	status = client_get(&c, &answer);
	return status ? status : symbol_list_read(&answer, s);
}

void symbol_sending_release(struct symbol_sending *s)
{
	vec_release(&s->there);
}

static bool is_there(const struct symbol_sending *s, const struct symbol_item *item)
{
	vec_for_each (one, &s->there)
		if (one->debug == item->debug && one->size == item->size &&
		    strcmp(one->build_id, item->build_id) == 0)
			return true;
	return false;
}

/* ------------------------------------------------------------------ one file */

/* Validate the file before sending it, because it may be large. */
static enum err look_at(int fd, const char *path, struct symbol_item *ret, struct fault *fault)
{
	struct symbol_file *file;
	struct symbol_facts facts;
	struct stat info;
	enum err e;

	if (fstat(fd, &info))
		return err_from_errno(errno);
	TRY(symbol_file_new(fd, path, &(struct symbol_options){.alone = true}, &file, fault));
	e = symbol_file_facts(file, &facts);
	if (!e) {
		e = symbol_facts_check(&facts, fault);
		if (e)
			fault_prefix(fault, path);
		build_id_text(facts.build_id, ret->build_id);
		ret->debug = !facts.code;
		ret->size = (uint64_t)info.st_size;
	}
	symbol_file_free(file);
	return e;
}

static int send_part(const struct symbol_sending *s, const char *path, const char *upload,
		     uint64_t offset, uint64_t size, struct str bytes)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 16);
	CLEANUP(call_release) struct call c = {0};
	struct client_failure failure;
	char number[24];

	call_init(&c, s->client, "/api/v1/symbols/upload");
	call_param_text(&c, "upload", upload);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)offset);
	call_param_text(&c, "offset", number);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)size);
	call_param_text(&c, "size", number);
	if (client_ask(&c, &bytes, &answer, &failure) == ERR_OK)
		return EXIT_OK;
	return complain(failure.status, "%s: %s", path, failure.fault.text);
}

static int send_all(const struct symbol_sending *s, int fd, const char *path, uint64_t size)
{
	CLEANUP(mem_free_ptr) char *bytes = mem_alloc(PART_BYTES);
	uint64_t offset = 0, secret;
	char upload[24];
	int status = EXIT_OK;

	if (!bytes || getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return complain(EXIT_OS, "%s", err_text(ERR_NO_MEMORY));
	snprintf(upload, sizeof(upload), "%016llx", (unsigned long long)secret);
	while (!status && offset < size) {
		size_t want = size - offset < PART_BYTES ? (size_t)(size - offset) : PART_BYTES;
		ssize_t n = pread(fd, bytes, want, (off_t)offset);

		if (n <= 0)
			return complain(EXIT_NO_INPUT, "%s: it became shorter while it was sent",
					path);
		status = send_part(s, path, upload, offset, size, str_n(bytes, (size_t)n));
		offset += (uint64_t)n;
	}
	return status;
}

static int send_file(struct symbol_sending *s, int fd, const char *path, bool named)
{
	struct symbol_item item = {0};
	struct fault fault = {0};
	enum err e = look_at(fd, path, &item, &fault);
	int status;

	if (e && !named)
		return EXIT_OK;
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (!s->again && is_there(s, &item)) {
		s->skipped++;
		return EXIT_OK;
	}
	status = send_all(s, fd, path, item.size);
	if (status)
		return status;
	s->sent++;
	say(s->common, "%s: sent, %s with build id %s", path, item.debug ? "debug file" : "program",
	    item.build_id);
	return vec_push(&s->there, item) == ERR_OK ? EXIT_OK : EXIT_OS;
}

/* ------------------------------------------------------------------ folders */

static int send_entry(struct symbol_sending *s, const char *path, int depth);

static int send_folder(struct symbol_sending *s, const char *path, int depth)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int status = EXIT_OK;

	if (!folder)
		return complain(EXIT_NO_INPUT, "%s: %s", path, strerror(errno));
	while (!status && (entry = readdir(folder))) {
		char below[4096];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
		    (int)sizeof(below))
			status = send_entry(s, below, depth + 1);
	}
	closedir(folder);
	return status;
}

/* Below a folder links are not followed, and what is no program is passed over. */
static int send_entry(struct symbol_sending *s, const char *path, int depth)
{
	bool named = depth == 0;
	int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (named ? 0 : O_NOFOLLOW));
	struct stat info;
	int status = EXIT_OK;

	if (fd < 0)
		return named ? complain(EXIT_NO_INPUT, "%s: %s", path, strerror(errno)) : EXIT_OK;
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
		if (depth < DEPTH_MAX)
			status = send_folder(s, path, depth);
	} else if (S_ISREG(info.st_mode)) {
		status = send_file(s, fd, path, named);
	} else if (named) {
		status = complain(EXIT_NO_INPUT, "%s: not a file or folder", path);
	}
	close(fd);
	return status;
}

int symbol_sending_path(struct symbol_sending *s, const char *path)
{
	return send_entry(s, path, 0);
}
