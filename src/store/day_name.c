/* Days and the files they are kept in. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/partition.h"
#include "store/store_dir.h"

static const char *const suffix_of[DAY_KINDS_] = {".db", ".spans.db"};

char *day_path(const char *tenant_path, struct day_name name)
{
	char date[CLOCK_TEXT_SIZE];
	struct buf b = BUF_INIT(OUTPUT_PATH_MAX);

	clock_format(name.day * NS_PER_DAY, 0, date);
	buf_printf(&b, "%s/%.10s%s", tenant_path, date, suffix_of[name.kind]);
	if (b.error != ERR_OK)
		buf_release(&b);
	return b.data;
}

static bool parse_name(const char *text, struct day_name *ret)
{
	char time[40];
	int64_t ns;

	if (strlen(text) < 10)
		return false;
	snprintf(time, sizeof(time), "%.10sT00:00:00Z", text);
	if (clock_parse(str_of(time), &ns) != ERR_OK)
		return false;
	ret->day = day_of(ns);
	for (int kind = 0; kind < DAY_KINDS_; kind++)
		if (strcmp(text + 10, suffix_of[kind]) == 0) {
			ret->kind = (enum day_kind)kind;
			return true;
		}
	return false;
}

static int by_day(const void *a, const void *b)
{
	const struct day_name *x = a, *y = b;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

enum err day_list(const char *tenant_path, struct day_names *ret, struct fault *fault)
{
	struct day_names list = {0};
	struct day_name name;
	struct dirent *entry;
	enum err error = ERR_OK;
	DIR *dir = opendir(tenant_path);

	if (!dir && errno == ENOENT) {
		*ret = list;
		return ERR_OK;
	}
	if (!dir)
		return fault_set(fault, err_from_errno(errno), "%s cannot be read: %s", tenant_path,
				 strerror(errno));
	while (error == ERR_OK && (entry = readdir(dir)))
		if (parse_name(entry->d_name, &name))
			error = vec_push(&list.names, name);
	closedir(dir);
	if (error != ERR_OK) {
		vec_release(&list.names);
		return error;
	}
	if (list.names.n)
		qsort(list.names.v, list.names.n, sizeof(*list.names.v), by_day);
	*ret = list;
	return ERR_OK;
}

static const char *const beside[] = {"", "-wal", "-shm"};

enum err day_unlink(const char *tenant_path, struct day_name name, struct fault *fault)
{
	char *path = day_path(tenant_path, name);
	enum err error = path ? ERR_OK : ERR_NO_MEMORY;
	char full[OUTPUT_PATH_MAX + 8];

	/* The file itself first: a log without its file is ignored, a file without its log would
	 * be taken for whole. */
	for (size_t i = 0; error == ERR_OK && i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(full, sizeof(full), "%s%s", path, beside[i]);
		if (unlink(full) < 0 && errno != ENOENT)
			error = fault_set(fault, err_from_errno(errno), "%s cannot be removed: %s",
					  full, strerror(errno));
	}
	mem_free(path);
	return error;
}

uint64_t db_disk_bytes(const char *path)
{
	char full[OUTPUT_PATH_MAX + 8];
	uint64_t bytes = 0;
	struct stat st;

	/* The shared index of the log is memory, not data. */
	for (size_t i = 0; i < 2; i++) {
		snprintf(full, sizeof(full), "%s%s", path, beside[i]);
		if (stat(full, &st) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	}
	return bytes;
}
