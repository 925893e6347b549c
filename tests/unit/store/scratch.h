/* A folder of a test's own, removed at the end. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct scratch {
	char path[200];
};

static inline void scratch_make(struct scratch *s)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(s->path, sizeof(s->path), "%s/vestal-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(s->path))
		abort();
}

/* In memory where there is such a place: for tests that sync a thousand times. */
static inline void scratch_make_fast(struct scratch *s)
{
	snprintf(s->path, sizeof(s->path), "/dev/shm/vestal-test-XXXXXX");
	if (!mkdtemp(s->path))
		scratch_make(s);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static inline void scratch_remove(struct scratch *s)
{
	nftw(s->path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "FOLDER/name"; valid until the next call. */
static inline const char *scratch_file(const struct scratch *s, const char *name)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s", s->path, name);
	return path;
}
