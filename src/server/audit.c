#include "server/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/jsonout.h"
#include "base/thread.h"

#define MAX_LINE (64u << 10)

struct audit {
	int fd;
	struct mutex lock; /* so that a line that was cut off is at the end */
	char path[4096];
};

static enum err open_file(struct audit *a, struct str directory, struct fault *fault)
{
	int n = snprintf(a->path, sizeof(a->path), "%.*s/audit.log", (int)directory.n, directory.p);

	if (n < 0 || (size_t)n >= sizeof(a->path))
		return fault_set(fault, ERR_BAD_ARGUMENT, "the path of audit.log is too long");
	a->fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (a->fd < 0)
		return fault_set(fault, err_from_errno(errno), "%s cannot be written: %s", a->path,
				 strerror(errno));
	return ERR_OK;
}

static enum err open_in(struct str directory, struct audit **ret, struct fault *fault)
{
	struct audit *a = mem_zalloc(1, sizeof(*a));
	enum err error;

	if (!a)
		return ERR_NO_MEMORY;
	error = open_file(a, directory, fault);
	mutex_init(&a->lock);
	if (error != ERR_OK)
		mem_free(a);
	else
		*ret = a;
	return error;
}

enum err audit_open(const char *directory, struct audit **ret, struct fault *fault)
{
	return open_in(str_of(directory), ret, fault);
}

enum err audit_lock_beside(const char *file, struct audit **ret, struct fault *fault)
{
	struct str path = str_of(file);
	size_t slash = str_rfind(path, '/');

	TRY(open_in(slash < path.n ? str_n(path.p, slash) : STR("."), ret, fault));
	if (flock((*ret)->fd, LOCK_EX) == 0)
		return ERR_OK;
	enum err error = err_from_errno(errno);

	audit_close(*ret);
	*ret = NULL;
	return fault_set(fault, error, "audit.log beside %s cannot be locked", file);
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	close(a->fd);
	mutex_release(&a->lock);
	mem_free(a);
}

/* Whole, or not at all: on a full disk only a part of it may have found room. */
static enum err append(struct audit *a, struct str line)
{
	struct stat before, after;
	int os = 0;

	if (fstat(a->fd, &before) < 0)
		return err_from_errno(errno);
	if (write_all(a->fd, line.p, line.n) == ERR_OK && fdatasync(a->fd) == 0)
		return ERR_OK;
	os = errno;
	if (fstat(a->fd, &after) == 0 && after.st_size > before.st_size &&
	    after.st_size < before.st_size + (off_t)line.n && ftruncate(a->fd, before.st_size) < 0)
		os = errno;
	errno = os;
	return err_from_errno(os);
}

enum err audit_write(struct audit *a, const char *action, const struct audit_pair *pairs, size_t n,
		     struct fault *fault)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(MAX_LINE);
	struct jsonout o = jsonout_of(&line, false);
	char time[CLOCK_TEXT_SIZE];
	enum err error;

	if (!a)
		return ERR_OK;
	jsonout_object(&o);
	jsonout_put_text(&o, "time", clock_format(clock_wall_ns(), 3, time));
	jsonout_put_text(&o, "action", action);
	for (size_t i = 0; i < n; i++)
		jsonout_put_str(&o, pairs[i].key, pairs[i].value);
	jsonout_end_object(&o);
	buf_byte(&line, '\n');
	TRY(buf_error(&line));
	mutex_lock(&a->lock);
	error = append(a, buf_view(&line));
	if (error != ERR_OK)
		(void)fault_set(fault, error, "%s cannot be written: %s", a->path, strerror(errno));
	mutex_unlock(&a->lock);
	return error;
}
