#include "store/fault_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a write replaced. */
struct old_bytes {
	struct old_bytes *before;
	sqlite3_int64 at, file_size;
	int n;
	char *fresh; /* new bytes; NULL = truncated */
	char bytes[];
};

struct tracked {
	struct tracked *next;
	char *path;
	struct old_bytes *unsynced; /* the last one first */
};

struct fault_file {
	sqlite3_file base;
	struct tracked *tracked;
	sqlite3_file *real;
};

static struct {
	pthread_mutex_t lock;
	sqlite3_vfs *real;
	enum disk_fault fault;
	long until_fault, until_cut; /* -1 = never */
	bool persist, reached, recording, off;
	struct tracked *files;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .until_fault = -1, .until_cut = -1};

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct fault_file *)file)->real;
}

/* ------------------------------------------------------------------ deciding */

/* Called for every write and sync. */
static enum disk_fault next_fault(void)
{
	enum disk_fault now = DISK_FINE;

	pthread_mutex_lock(&disk.lock);
	if (disk.until_cut > 0)
		disk.until_cut--;
	else if (disk.until_cut == 0)
		disk.off = true;
	if (disk.off) {
		now = DISK_BROKEN;
	} else if (disk.until_fault > 0) {
		disk.until_fault--;
	} else if (disk.until_fault == 0) {
		now = disk.fault;
		disk.reached = true;
		if (!disk.persist)
			disk.until_fault = -1;
	}
	pthread_mutex_unlock(&disk.lock);
	return now;
}

static void remember(struct fault_file *f, const void *fresh, sqlite3_int64 at, int n)
{
	struct old_bytes *old;

	if (!disk.recording || !f->tracked)
		return;
	old = calloc(1, sizeof(*old) + (size_t)n);
	if (!old)
		abort();
	old->at = at;
	old->n = n;
	if (fresh && !(old->fresh = malloc((size_t)n + 1)))
		abort();
	if (fresh)
		memcpy(old->fresh, fresh, (size_t)n);
	f->real->pMethods->xFileSize(f->real, &old->file_size);
	if (n && at < old->file_size)
		f->real->pMethods->xRead(f->real, old->bytes, n, at);
	pthread_mutex_lock(&disk.lock);
	old->before = f->tracked->unsynced;
	f->tracked->unsynced = old;
	pthread_mutex_unlock(&disk.lock);
}

static void forget(struct tracked *t)
{
	while (t && t->unsynced) {
		struct old_bytes *old = t->unsynced;

		t->unsynced = old->before;
		free(old->fresh);
		free(old);
	}
}

/* ------------------------------------------------------------------ files */

static int file_write_(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
	struct fault_file *f = (struct fault_file *)file;
	enum disk_fault fault = next_fault();

	if (fault == DISK_FULL)
		return SQLITE_FULL;
	if (fault == DISK_BROKEN)
		return SQLITE_IOERR_WRITE;
	remember(f, data, at, n);
	if (fault == DISK_SHORT) {
		f->real->pMethods->xWrite(f->real, data, n / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	return f->real->pMethods->xWrite(f->real, data, n, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct fault_file *f = (struct fault_file *)file;
	enum disk_fault fault = next_fault();
	sqlite3_int64 now = 0;

	if (fault != DISK_FINE)
		return SQLITE_IOERR_TRUNCATE;
	f->real->pMethods->xFileSize(f->real, &now);
	if (now > size)
		remember(f, NULL, size, (int)(now - size));
	return f->real->pMethods->xTruncate(f->real, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct fault_file *f = (struct fault_file *)file;
	enum disk_fault fault = next_fault();
	int rc;

	if (fault != DISK_FINE)
		return fault == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_FSYNC;
	rc = f->real->pMethods->xSync(f->real, flags);
	if (rc == SQLITE_OK) {
		pthread_mutex_lock(&disk.lock);
		forget(f->tracked);
		pthread_mutex_unlock(&disk.lock);
	}
	return rc;
}

static int file_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read_(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
	return real_of(file)->pMethods->xRead(real_of(file), data, n, at);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static int file_sector(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_device(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
	return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void shm_barrier(sqlite3_file *file)
{
	real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int delete)
{
	return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read_,
	.xWrite = file_write_,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_device,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

static struct tracked *track(const char *path)
{
	struct tracked *t;

	if (!path)
		return NULL;
	pthread_mutex_lock(&disk.lock);
	for (t = disk.files; t; t = t->next)
		if (strcmp(t->path, path) == 0)
			break;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t || !(t->path = strdup(path)))
			abort();
		t->next = disk.files;
		disk.files = t;
	}
	pthread_mutex_unlock(&disk.lock);
	return t;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
		    int *out_flags)
{
	struct fault_file *f = (struct fault_file *)file;
	int rc;

	(void)vfs;
	f->base.pMethods = NULL;
	f->real = (sqlite3_file *)(f + 1);
	f->tracked = track(path);
	rc = disk.real->xOpen(disk.real, path, f->real, flags, out_flags);
	if (f->real->pMethods)
		f->base.pMethods = &methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
	bool off;

	(void)vfs;
	pthread_mutex_lock(&disk.lock);
	off = disk.off;
	pthread_mutex_unlock(&disk.lock);
	return off ? SQLITE_IOERR_DELETE : disk.real->xDelete(disk.real, path, sync);
}

void fault_vfs_install(void)
{
	static sqlite3_vfs vfs;

	if (disk.real)
		return;
	sqlite3_initialize();
	disk.real = sqlite3_vfs_find(NULL);
	vfs = *disk.real;
	vfs.zName = "fault";
	vfs.szOsFile = (int)sizeof(struct fault_file) + disk.real->szOsFile;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	sqlite3_vfs_register(&vfs, 1);
}

/* ------------------------------------------------------------------ control */

void fault_vfs_fail(enum disk_fault fault, long after, bool persist)
{
	pthread_mutex_lock(&disk.lock);
	disk.fault = fault;
	disk.until_fault = fault == DISK_FINE ? -1 : after;
	disk.persist = persist;
	disk.reached = false;
	pthread_mutex_unlock(&disk.lock);
}

bool fault_vfs_reached(void)
{
	bool reached;

	pthread_mutex_lock(&disk.lock);
	reached = disk.reached;
	pthread_mutex_unlock(&disk.lock);
	return reached;
}

void fault_vfs_record(void)
{
	disk.recording = true;
}

void fault_vfs_cut_power(long after)
{
	pthread_mutex_lock(&disk.lock);
	disk.until_cut = after;
	pthread_mutex_unlock(&disk.lock);
}

bool fault_vfs_power_is_off(void)
{
	bool off;

	pthread_mutex_lock(&disk.lock);
	off = disk.off;
	pthread_mutex_unlock(&disk.lock);
	return off;
}

static void put_back(int fd, const struct old_bytes *old)
{
	if (pwrite(fd, old->bytes, (size_t)old->n, old->at) < 0 ||
	    ftruncate(fd, old->file_size) < 0)
		abort();
}

/* Repeats a write that had reached the disk. */
static void redo(int fd, const struct old_bytes *old, size_t n)
{
	if (!old->fresh) {
		if (n == (size_t)old->n && ftruncate(fd, old->at) < 0)
			abort();
	} else if (pwrite(fd, old->fresh, n, old->at) < 0) {
		abort();
	}
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1103515245 + 12345;
	return *random >> 16;
}

/* Undoes all writes, last to first; then repeats some of them in order. */
static void restore(struct tracked *t, uint32_t *random)
{
	enum { NOTHING, ALL, BEGINNING, TORN, SOME } how = next_random(random) % 5;
	int fd = t->unsynced ? open(t->path, O_RDWR) : -1;
	size_t n = 0, at = 0, keep;
	struct old_bytes **all;

	for (struct old_bytes *old = t->unsynced; old; old = old->before)
		n++;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		abort();
	for (struct old_bytes *old = t->unsynced; old; old = old->before) {
		all[n - ++at] = old;
		if (fd >= 0)
			put_back(fd, old);
	}
	keep = how == ALL ? n : how == NOTHING ? 0 : next_random(random) % (n + 1);
	for (size_t i = 0; fd >= 0 && i < n; i++) {
		if (how == SOME ? next_random(random) & 1 : i < keep)
			redo(fd, all[i], (size_t)all[i]->n);
		else if (how == TORN && i == keep)
			redo(fd, all[i], (size_t)all[i]->n / 2);
	}
	free(all);
	forget(t);
	if (fd >= 0)
		close(fd);
}

static void power_is_back(void)
{
	char shm[4200];

	for (struct tracked *t = disk.files; t; t = t->next) {
		/* The index of the log lives in memory, and that is gone. */
		strncpy(shm, t->path, sizeof(shm) - 8);
		shm[sizeof(shm) - 8] = 0;
		strcat(shm, "-shm");
		unlink(shm);
	}
	while (disk.files) {
		struct tracked *t = disk.files;

		disk.files = t->next;
		forget(t);
		free(t->path);
		free(t);
	}
	disk.recording = disk.off = false;
	disk.until_cut = disk.until_fault = -1;
}

void fault_vfs_restore(uint32_t random)
{
	for (struct tracked *t = disk.files; t; t = t->next)
		restore(t, &random);
	power_is_back();
}

void fault_vfs_revive(void)
{
	power_is_back();
}
