#include "store/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonout.h"

/* ------------------------------------------------------------------ what is missing */

void repair_note_loss(void *context, const char *text, const struct walk_loss *loss)
{
	struct repair *r = context;
	struct loss_line line = {.profiles = -1};

	if (r->error != ERR_OK)
		return;
	line.reason = mem_strdup(text);
	if (loss) {
		line.service = loss->service ? mem_strdup(loss->service) : NULL;
		line.from_ns = loss->from_ns;
		line.until_ns = loss->until_ns;
		line.profiles = loss->derived ? 0 : loss->profiles;
	} else {
		line.profiles = 0;
	}
	if (!line.reason || (loss && loss->service && !line.service))
		r->error = ERR_NO_MEMORY;
	else
		r->error = vec_push(&r->losses, line);
	if (r->error != ERR_OK) {
		mem_free(line.reason);
		mem_free(line.service);
	}
}

void repair_forget_losses(struct repair *r)
{
	vec_for_each (line, &r->losses) {
		mem_free(line->reason);
		mem_free(line->service);
	}
	vec_release(&r->losses);
}

static void put_line(struct buf *out, const struct store_lost *lost)
{
	struct jsonout o = jsonout_of(out, false);

	jsonout_object(&o);
	jsonout_put_str(&o, "tenant", lost->tenant);
	jsonout_put_text(&o, "file", lost->file);
	jsonout_put_text(&o, "detached", lost->detached);
	jsonout_put_text(&o, "service", lost->service);
	jsonout_put_i64(&o, "from_ns", lost->from_ns);
	jsonout_put_i64(&o, "until_ns", lost->until_ns);
	if (lost->profiles >= 0)
		jsonout_put_i64(&o, "profiles", lost->profiles);
	jsonout_put_text(&o, "reason", lost->reason);
	jsonout_put_i64(&o, "repaired_ns", clock_wall_ns());
	jsonout_end_object(&o);
	buf_byte(out, '\n');
}

static enum err append(const char *path, struct str bytes, struct fault *fault)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && fsync(fd) == 0;
	int os = errno;

	if (fd >= 0)
		close(fd);
	return good ? ERR_OK
		    : fault_set(fault, err_from_errno(os), "%s cannot be written: %s", path,
				strerror(os));
}

/* Writes losses to the manifest, and reports them to the caller. */
enum err repair_tell_losses(struct repair *r, const char *file, const char *detached)
{
	CLEANUP(buf_release) struct buf lines = BUF_INIT(SIZE_MAX);
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	vec_for_each (line, &r->losses) {
		struct store_lost lost = {r->tenant,	  file,		 detached,
					  line->service,  line->from_ns, line->until_ns,
					  line->profiles, line->reason};

		put_line(&lines, &lost);
		r->each(r->context, &lost);
		r->result.losses++;
	}
	buf_printf(&path, "%s/detached/manifest.jsonl", r->folder);
	TRY(buf_error(&lines));
	TRY(buf_error(&path));
	return append(path.data, buf_view(&lines), r->fault);
}

/* ------------------------------------------------------------------ names of files */

enum err repair_path(const struct repair *r, struct buf *out, const char *format, ...)
{
	va_list args;

	buf_clear(out);
	buf_printf(out, "%s/", r->folder);
	va_start(args, format);
	buf_vprintf(out, format, args);
	va_end(args);
	return buf_error(out);
}

static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
#define BESIDE (sizeof(beside) / sizeof(*beside))

enum err repair_rename(struct repair *r, const char *from, const char *to)
{
	CLEANUP(buf_release) struct buf a = BUF_INIT(OUTPUT_PATH_MAX);
	CLEANUP(buf_release) struct buf b = BUF_INIT(OUTPUT_PATH_MAX);

	for (size_t i = BESIDE; i-- > 0;) {
		TRY(repair_path(r, &a, "%s%s", from, beside[i]));
		TRY(repair_path(r, &b, "%s%s", to, beside[i]));
		if (rename(a.data, b.data) < 0 && errno != ENOENT)
			return fault_set(r->fault, err_from_errno(errno), "%s cannot be moved: %s",
					 a.data, strerror(errno));
	}
	return ERR_OK;
}

enum err repair_remove(struct repair *r, const char *path)
{
	char name[OUTPUT_PATH_MAX + 16];

	for (size_t i = 0; i < BESIDE; i++) {
		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		if (unlink(name) < 0 && errno != ENOENT)
			return fault_set(r->fault, err_from_errno(errno),
					 "%s cannot be removed: %s", name, strerror(errno));
	}
	return ERR_OK;
}

bool repair_exists(struct repair *r, const char *name)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	return repair_path(r, &path, "%s", name) == ERR_OK && access(path.data, F_OK) == 0;
}

/* "detached/NAME.1", or the next free number. */
enum err repair_free_name(struct repair *r, const char *file, char *out, size_t size)
{
	for (int n = 1; n < 100000; n++) {
		snprintf(out, size, "detached/%s.%d", file, n);
		if (!repair_exists(r, out))
			return ERR_OK;
	}
	return fault_set(r->fault, ERR_EXISTS, "%s/detached is full of files named %s", r->folder,
			 file);
}

enum err repair_sync_folders(struct repair *r)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	TRY(repair_path(r, &path, "detached"));
	TRY(folder_sync(path.data, r->fault));
	return folder_sync(r->folder, r->fault);
}

enum err repair_make_detached(struct repair *r)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	TRY(repair_path(r, &path, "detached"));
	if (mkdir(path.data, 0700) < 0 && errno != EEXIST)
		return fault_set(r->fault, err_from_errno(errno), "%s cannot be created: %s",
				 path.data, strerror(errno));
	return ERR_OK;
}
