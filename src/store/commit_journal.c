#include "store/commit_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "store/seal.h"

#define HEAD_BYTES	64
#define COPY_BYTES	64
#define SLOT_BYTES	(2 * COPY_BYTES)
#define MAX_SLOTS	65536
#define JOURNAL_VERSION 1

static const char magic[16] = "vestal commits\n";

static void put_u64(uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static enum err failed(const struct commit_journal *j, const char *what, struct fault *fault)
{
	int os = errno;

	return fault_set(fault, err_from_errno(os), "%s %s: %s", j->path, what, strerror(os));
}

/* ------------------------------------------------------------------ bytes */

static uint64_t seal_of(uint64_t key, size_t slot, const uint8_t *copy)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_JOURNAL), slot);

	for (int i = 0; i < 5; i++)
		s = seal_number(s, get_u64(copy + 8 * i));
	return seal_end(s);
}

static void encode_slot(uint64_t key, size_t at, const struct commit_slot *s, uint8_t *copy)
{
	memset(copy, 0, COPY_BYTES);
	put_u64(copy, s->state);
	put_u64(copy + 8, (uint64_t)s->kind);
	put_u64(copy + 16, (uint64_t)s->day);
	put_u64(copy + 24, s->file);
	put_u64(copy + 32, s->commits);
	put_u64(copy + 40, seal_of(key, at, copy));
}

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static bool decode_copy(uint64_t key, size_t at, const uint8_t *copy, struct commit_slot *ret)
{
	if (get_u64(copy + 40) != seal_of(key, at, copy) || get_u64(copy) > SLOT_REMOVED)
		return false;
	*ret = (struct commit_slot){
		.state = (enum slot_state)get_u64(copy),
		.kind = (int)get_u64(copy + 8),
		.day = (int64_t)get_u64(copy + 16),
		.file = get_u64(copy + 24),
		.commits = get_u64(copy + 32),
	};
	return true;
}

/* Chooses the newer of two copies. The commit number alone does not tell which, because slots are
 * reused. A commit writes the copy of its parity; a change of state writes both. */
static struct commit_slot decode_slot(uint64_t key, size_t at, const uint8_t *p)
{
	struct commit_slot a, b;
	bool has_a = decode_copy(key, at, p, &a), has_b = decode_copy(key, at, p + COPY_BYTES, &b);

	if (has_a && has_b)
		return a.file == b.file && a.commits >= b.commits ? a : b;
	if (has_a)
		return a;
	if (has_b)
		return b;
	return (struct commit_slot){.damaged = !all_zero(p, SLOT_BYTES)};
}

/* ------------------------------------------------------------------ opening */

static void encode_head(uint64_t key, uint8_t head[HEAD_BYTES])
{
	memset(head, 0, HEAD_BYTES);
	memcpy(head, magic, sizeof(magic));
	put_u64(head + 16, JOURNAL_VERSION);
	put_u64(head + 24, seal_end(seal_number(seal_begin(key, SEALED_JOURNAL), UINT64_MAX)));
}

/* Opened per use, because a store may have more tenants than a process may have open files. */
static enum err open_file(const struct commit_journal *j, int flags, int *ret, struct fault *fault)
{
	int fd = open(j->path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return failed(j, "cannot be opened", fault);
	*ret = fd;
	return ERR_OK;
}

static enum err write_at(const struct commit_journal *j, int fd, const void *bytes, size_t n,
			 size_t at, struct fault *fault)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done == 0)
			errno = ENOSPC;
		if (done <= 0)
			return failed(j, "cannot be written", fault);
		p += done;
		at += (size_t)done;
		n -= (size_t)done;
	}
	return ERR_OK;
}

static enum err sync_file(struct commit_journal *j, int fd, struct fault *fault)
{
	if (fdatasync(fd) < 0)
		return failed(j, "cannot be written to the disk", fault);
	j->dirty = false;
	return ERR_OK;
}

static enum err read_all(struct commit_journal *j, int fd, struct fault *fault)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(HEAD_BYTES + MAX_SLOTS * SLOT_BYTES);
	uint8_t head[HEAD_BYTES];
	const uint8_t *p;

	TRY(file_read_fd(fd, j->path, &bytes, fault));
	encode_head(j->key, head);
	p = (const uint8_t *)bytes.data;
	j->damaged = bytes.n < HEAD_BYTES || memcmp(p, head, HEAD_BYTES) != 0;
	for (size_t at = HEAD_BYTES, i = 0; at + SLOT_BYTES <= bytes.n; at += SLOT_BYTES, i++) {
		struct commit_slot slot = decode_slot(j->key, i, p + at);

		j->damaged |= slot.damaged;
		TRY(vec_push(&j->slots, slot));
	}
	if (bytes.n > HEAD_BYTES && (bytes.n - HEAD_BYTES) % SLOT_BYTES)
		j->damaged = true;
	return ERR_OK;
}

static enum err make_head(struct commit_journal *j, int fd, const char *folder, struct fault *fault)
{
	uint8_t head[HEAD_BYTES];

	encode_head(j->key, head);
	TRY(write_at(j, fd, head, sizeof(head), 0, fault));
	TRY(sync_file(j, fd, fault));
	return folder_sync(folder, fault);
}

static enum err open_and_read(struct commit_journal *j, const char *folder, bool make,
			      struct fault *fault)
{
	struct stat st;
	int fd = -1;
	enum err error;

	if (!make && access(j->path, F_OK) < 0 && errno == ENOENT)
		return ERR_OK;
	TRY(open_file(j, make ? O_RDWR | O_CREAT : O_RDONLY, &fd, fault));
	if (fstat(fd, &st) < 0)
		error = failed(j, "cannot be opened", fault);
	else if (st.st_size == 0 && make)
		error = make_head(j, fd, folder, fault);
	else
		error = read_all(j, fd, fault);
	close(fd);
	return error;
}

enum err journal_open(struct commit_journal *j, const char *folder, uint64_t key, bool make,
		      struct fault *fault)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	mutex_init(&j->lock);
	j->key = key;
	buf_printf(&path, "%s/commits", folder);
	if (buf_error(&path) != ERR_OK) {
		buf_release(&path);
		return ERR_NO_MEMORY;
	}
	j->path = path.data;
	return open_and_read(j, folder, make, fault);
}

void journal_close(struct commit_journal *j)
{
	if (!j->path)
		return;
	(void)!journal_sync(j, NULL);
	mutex_release(&j->lock);
	vec_release(&j->slots);
	mem_free(j->path);
	j->path = NULL;
}

/* ------------------------------------------------------------------ slots */

static size_t find(const struct commit_journal *j, int kind, int64_t day)
{
	size_t i = 0;

	while (i < j->slots.n && (j->slots.v[i].state == SLOT_FREE || j->slots.v[i].kind != kind ||
				  j->slots.v[i].day != day))
		i++;
	return i;
}

bool journal_find(struct commit_journal *j, int kind, int64_t day, struct commit_slot *ret)
{
	size_t i;
	bool found;

	mutex_lock(&j->lock);
	i = find(j, kind, day);
	found = i < j->slots.n;
	if (found)
		*ret = j->slots.v[i];
	mutex_unlock(&j->lock);
	return found;
}

/* Writes both copies and syncs when the slot changes its state or file. */
static enum err write_slot(struct commit_journal *j, size_t i, const struct commit_slot *s,
			   bool both, struct fault *fault)
{
	uint8_t bytes[SLOT_BYTES];
	size_t at = HEAD_BYTES + i * SLOT_BYTES;
	enum err error;
	int fd = -1;

	encode_slot(j->key, i, s, bytes);
	encode_slot(j->key, i, s, bytes + COPY_BYTES);
	TRY(open_file(j, O_WRONLY, &fd, fault));
	j->dirty = true;
	if (both)
		error = write_at(j, fd, bytes, SLOT_BYTES, at, fault);
	else
		error = write_at(j, fd, bytes, COPY_BYTES, at + (s->commits & 1) * COPY_BYTES,
				 fault);
	if (error == ERR_OK)
		j->slots.v[i] = *s;
	if (error == ERR_OK && both)
		error = sync_file(j, fd, fault);
	close(fd);
	return error;
}

static enum err take_slot(struct commit_journal *j, size_t *ret, struct fault *fault)
{
	size_t i = 0;

	while (i < j->slots.n && (j->slots.v[i].state != SLOT_FREE || j->slots.v[i].damaged))
		i++;
	if (i == MAX_SLOTS)
		return fault_set(fault, ERR_TOO_LARGE, "%s: a tenant has more than %d files",
				 j->path, MAX_SLOTS);
	if (i == j->slots.n)
		TRY(vec_push(&j->slots, (struct commit_slot){0}));
	*ret = i;
	return ERR_OK;
}

enum err journal_note(struct commit_journal *j, int kind, int64_t day, uint64_t file,
		      uint64_t commits, struct fault *fault)
{
	struct commit_slot s = {SLOT_THERE, kind, day, file, commits, false};
	bool fresh;
	size_t i;
	enum err error = ERR_OK;

	mutex_lock(&j->lock);
	i = find(j, kind, day);
	fresh = i == j->slots.n || j->slots.v[i].file != file || j->slots.v[i].state != SLOT_THERE;
	if (i == j->slots.n)
		error = take_slot(j, &i, fault);
	if (error == ERR_OK)
		error = write_slot(j, i, &s, fresh, fault);
	mutex_unlock(&j->lock);
	return error;
}

static enum err change_state(struct commit_journal *j, int kind, int64_t day, enum slot_state state,
			     struct fault *fault)
{
	enum err error = ERR_OK;
	size_t i;

	mutex_lock(&j->lock);
	i = find(j, kind, day);
	if (i < j->slots.n) {
		struct commit_slot s = j->slots.v[i];

		s.state = state;
		error = write_slot(j, i, &s, true, fault);
	}
	mutex_unlock(&j->lock);
	return error;
}

enum err journal_removing(struct commit_journal *j, int kind, int64_t day, struct fault *fault)
{
	return change_state(j, kind, day, SLOT_REMOVED, fault);
}

enum err journal_removed(struct commit_journal *j, int kind, int64_t day, struct fault *fault)
{
	return change_state(j, kind, day, SLOT_FREE, fault);
}

/* The lock is not held during the sync, so that commits do not wait for it. */
enum err journal_sync(struct commit_journal *j, struct fault *fault)
{
	enum err error;
	bool dirty;
	int fd = -1;

	mutex_lock(&j->lock);
	dirty = j->dirty;
	j->dirty = false;
	mutex_unlock(&j->lock);
	if (!dirty)
		return ERR_OK;
	error = open_file(j, O_WRONLY, &fd, fault);
	if (error == ERR_OK && fdatasync(fd) < 0)
		error = failed(j, "cannot be written to the disk", fault);
	if (fd >= 0)
		close(fd);
	if (error != ERR_OK) {
		mutex_lock(&j->lock);
		j->dirty = true;
		mutex_unlock(&j->lock);
	}
	return error;
}
