/* Copies of a store's folder, to be damaged. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "test.h"

#include "base/file.h"
#include "store/scratch.h"

#define MAX_FILES 64

struct files {
	size_t n;
	char name[MAX_FILES][300]; /* in the folder */
};

static inline void list_into(const char *path, const char *prefix, struct files *f)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) && f->n < MAX_FILES) {
		char full[600], name[300];
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		CHECK(snprintf(full, sizeof(full), "%s/%s", path, entry->d_name) <
			      (int)sizeof(full) &&
		      snprintf(name, sizeof(name), "%s%s", prefix, entry->d_name) <
			      (int)sizeof(name));
		if (stat(full, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			strncat(name, "/", sizeof(name) - strlen(name) - 1);
			list_into(full, name, f);
		} else {
			memcpy(f->name[f->n++], name, sizeof(name));
		}
	}
	closedir(dir);
}

static inline int folder_by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static inline void list_files(const char *path, struct files *f)
{
	f->n = 0;
	list_into(path, "", f);
	qsort(f->name, f->n, sizeof(f->name[0]), folder_by_name);
}

static inline void copy_file(const char *from, const char *to)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(64 << 20);
	int fd;

	CHECK_OK(file_read(from, &bytes, NULL));
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, bytes.data, bytes.n) == (ssize_t)bytes.n);
	close(fd);
}

static inline void copy_folder(const char *from, const char *to)
{
	struct files f;
	char a[600], b[600];

	mkdir(to, 0700);
	list_files(from, &f);
	for (size_t i = 0; i < f.n; i++) {
		char *slash;

		/* Memory of the process that wrote, as a kill leaves it; the next makes it anew. */
		if (strstr(f.name[i], "-shm") || strcmp(f.name[i], "LOCK") == 0)
			continue;
		snprintf(a, sizeof(a), "%s/%s", from, f.name[i]);
		snprintf(b, sizeof(b), "%s/%s", to, f.name[i]);
		slash = strrchr(b, '/');
		*slash = 0;
		mkdir(b, 0700);
		*slash = '/';
		copy_file(a, b);
	}
}

static inline void remove_folder(const char *path)
{
	nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
