#include "store/disk_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"

#define RESERVE_MOST  ((uint64_t)8 << 20)
#define RESERVE_LEAST ((uint64_t)1 << 20)
#define RESERVE_SHARE 32 /* of a small file system not more than this part */

#define PROBE_BYTES    (64u << 10)
#define PROVE_AFTER_NS (30 * NS_PER_S)

/* Less than this counts as full; a small file system has less to spare. */
#define FREE_LEAST ((uint64_t)1 << 20)
#define FREE_SHARE 128

/* ------------------------------------------------------------------ the file system */

struct room {
	uint64_t total, free, files, free_files;
	bool read_only;
};

static bool look_at_room(const struct disk_guard *g, struct room *ret)
{
	struct statvfs v;

	if (statvfs(g->directory, &v) < 0)
		return false;
	*ret = (struct room){
		.total = (uint64_t)v.f_blocks * v.f_frsize,
		/* Root may use what is kept back for it. */
		.free = (uint64_t)(geteuid() ? v.f_bavail : v.f_bfree) * v.f_frsize,
		.files = v.f_files,
		.free_files = geteuid() ? v.f_favail : v.f_ffree,
		.read_only = v.f_flag & ST_RDONLY,
	};
	return true;
}

static uint64_t least_free(const struct room *r)
{
	uint64_t share = r->total / FREE_SHARE;

	return share && share < FREE_LEAST ? share : FREE_LEAST;
}

static enum store_disk_state state_of_errno(int os)
{
	switch (os) {
	case ENOSPC:
		return STORE_DISK_FULL;
	case EDQUOT:
		return STORE_DISK_QUOTA;
	case EROFS:
		return STORE_DISK_READ_ONLY;
	default:
		return STORE_DISK_FAILING;
	}
}

/* Errors of this process that say nothing about the disk. */
static bool is_own_shortage(int os)
{
	return os == EMFILE || os == ENFILE || os == ENOMEM || os == EINTR;
}

/* ------------------------------------------------------------------ writing */

/* Not zeros: some file systems store those nowhere. */
static int write_pattern(int fd, uint64_t bytes)
{
	char block[4096];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 + i / 256 + 1);
	for (uint64_t done = 0; done < bytes; done += sizeof(block))
		if (write_all(fd, block, sizeof(block)) != ERR_OK)
			return errno ? errno : EIO;
	return 0;
}

/* 0 or an errno. A file that is there whole is left alone; one that cannot be made is removed. */
static int make_file(const char *path, uint64_t bytes)
{
	struct stat st;
	int os = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_blocks * 512 < bytes) {
		if (fallocate(fd, 0, 0, (off_t)bytes) < 0)
			os = errno == EOPNOTSUPP || errno == ENOSYS ? write_pattern(fd, bytes)
								    : errno;
	}
	/* Not synced: one that a power cut takes is made again. */
	close(fd);
	if (os)
		unlink(path);
	return os;
}

/* 0 or an errno. */
static int try_to_write(const struct disk_guard *g)
{
	char path[4096];
	int fd, os;

	if (snprintf(path, sizeof(path), "%s/.probe", g->directory) >= (int)sizeof(path))
		return ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno;
	os = write_pattern(fd, PROBE_BYTES);
	if (!os && fdatasync(fd) < 0)
		os = errno;
	close(fd);
	unlink(path);
	return os;
}

/* ------------------------------------------------------------------ the reserve */

static bool reserve_path(const struct disk_guard *g, unsigned i, char *to, size_t size)
{
	return snprintf(to, size, "%s/.reserve/%u", g->directory, i) < (int)size;
}

/* Size of the reserve: enough for deleting a day, and only a small part of a small file system. */
static uint64_t reserve_size(const struct room *r)
{
	uint64_t all = r->total ? r->total / RESERVE_SHARE : RESERVE_MOST;

	all = all < RESERVE_LEAST ? RESERVE_LEAST : all > RESERVE_MOST ? RESERVE_MOST : all;
	return all / RESERVE_FILES & ~(uint64_t)4095;
}

/* Those of an earlier run. */
static void count_files(struct disk_guard *g)
{
	char path[4096];
	unsigned i = 0;

	while (i < RESERVE_FILES && reserve_path(g, i, path, sizeof(path)) && !access(path, F_OK))
		i++;
	atomic_store(&g->held, i);
}

/* 0 or an errno. */
static int rebuild(struct disk_guard *g)
{
	char path[4096];
	int os;

	if (snprintf(path, sizeof(path), "%s/.reserve", g->directory) >= (int)sizeof(path))
		return ENAMETOOLONG;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errno;
	for (unsigned i = atomic_load(&g->held); i < RESERVE_FILES; i++) {
		if (!reserve_path(g, i, path, sizeof(path)))
			return ENAMETOOLONG;
		os = make_file(path, g->file_bytes);
		if (os)
			return os;
		atomic_store(&g->held, i + 1);
	}
	return 0;
}

bool disk_guard_give(struct disk_guard *g, unsigned files, unsigned least)
{
	char path[4096];
	bool gave = false;

	mutex_lock(&g->lock);
	for (; files && atomic_load(&g->held) > least; files--) {
		if (!reserve_path(g, atomic_load(&g->held) - 1, path, sizeof(path)) ||
		    unlink(path) < 0)
			break;
		atomic_fetch_sub(&g->held, 1);
		gave = true;
	}
	mutex_unlock(&g->lock);
	return gave;
}

/* ------------------------------------------------------------------ the state */

/*
 * The state by statvfs. After a failure there must also be space for the reserve, so that the state
 * does not change with every upload.
 */
static enum store_disk_state judge_room(struct disk_guard *g, bool trouble, struct room *r)
{
	uint64_t least, missing = (RESERVE_FILES - atomic_load(&g->held)) * g->file_bytes;

	if (!look_at_room(g, r))
		return STORE_DISK_FAILING;
	atomic_store(&g->free_bytes, r->free);
	atomic_store(&g->total_bytes, r->total);
	if (r->read_only)
		return STORE_DISK_READ_ONLY;
	least = least_free(r);
	/* Some file systems do not count inodes. */
	if (r->files && r->free_files < (trouble ? 2 * RESERVE_FILES : 2))
		return STORE_DISK_NO_INODES;
	if (r->total && r->free < (trouble ? 2 * least + missing : least))
		return STORE_DISK_FULL;
	return STORE_DISK_OK;
}

/* If a write fails with ENOSPC although there are free bytes, inodes are missing. */
static enum store_disk_state judge_write(int os, const struct room *r)
{
	enum store_disk_state state = os ? state_of_errno(os) : STORE_DISK_OK;

	if (state == STORE_DISK_FULL && r->files && r->free_files < 2)
		return STORE_DISK_NO_INODES;
	return state;
}

/* With the lock. */
static enum store_disk_state judge(struct disk_guard *g, bool write)
{
	bool trouble = atomic_load(&g->state) != STORE_DISK_OK;
	struct room room = {0};
	enum store_disk_state state = judge_room(g, trouble, &room);
	int os = 0;

	if (state != STORE_DISK_OK)
		return state;
	if (write)
		os = try_to_write(g);
	if (!os && atomic_load(&g->held) < RESERVE_FILES)
		os = rebuild(g);
	if (is_own_shortage(os))
		return atomic_load(&g->state);
	if (!os && write)
		disk_guard_proved(g);
	return judge_write(os, &room);
}

static bool become(struct disk_guard *g, enum store_disk_state state, int64_t wall_ns)
{
	if (atomic_exchange(&g->state, state) == state)
		return false;
	atomic_store(&g->since_ns, wall_ns);
	return true;
}

bool disk_guard_look(struct disk_guard *g, int64_t wall_ns)
{
	bool changed, write;

	mutex_lock(&g->lock);
	write = atomic_load(&g->state) != STORE_DISK_OK ||
		clock_monotonic_ns() - atomic_load(&g->proved_ns) > PROVE_AFTER_NS;
	changed = become(g, judge(g, write), wall_ns);
	mutex_unlock(&g->lock);
	return changed;
}

bool disk_guard_failed(struct disk_guard *g, enum err error, int64_t wall_ns)
{
	enum store_disk_state state;
	bool changed = false;

	mutex_lock(&g->lock);
	state = judge(g, true);
	/* Something larger than the probe did not fit. Other errors may be one file's alone. */
	if (state == STORE_DISK_OK && error == ERR_NO_SPACE)
		state = STORE_DISK_FULL;
	if (state != STORE_DISK_OK)
		changed = become(g, state, wall_ns);
	mutex_unlock(&g->lock);
	return changed;
}

void disk_guard_proved(struct disk_guard *g)
{
	atomic_store(&g->proved_ns, clock_monotonic_ns());
}

void disk_guard_tell(struct disk_guard *g, struct store_disk *ret)
{
	*ret = (struct store_disk){.state = atomic_load(&g->state),
				   .free_bytes = atomic_load(&g->free_bytes),
				   .total_bytes = atomic_load(&g->total_bytes),
				   .reserve_bytes = atomic_load(&g->held) * g->file_bytes,
				   .since_ns = atomic_load(&g->since_ns)};
}

enum err disk_guard_open(struct disk_guard *g, const char *directory)
{
	struct room room = {0};

	mutex_init(&g->lock);
	g->directory = mem_strdup(directory);
	if (!g->directory) {
		mutex_release(&g->lock);
		return ERR_NO_MEMORY;
	}
	(void)look_at_room(g, &room);
	g->file_bytes = reserve_size(&room);
	count_files(g);
	atomic_store(&g->state, judge(g, true));
	return ERR_OK;
}

void disk_guard_close(struct disk_guard *g)
{
	if (!g->directory)
		return;
	mutex_release(&g->lock);
	mem_free(g->directory);
	g->directory = NULL;
}
