#include "store/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

static enum err os_failed(struct fault *fault, const char *path, const char *what)
{
	int os = errno;

	return fault_set(fault, err_from_errno(os), "%s: %s: %s", path, what, strerror(os));
}

static char *join(const char *folder, const char *name)
{
	struct buf b = BUF_INIT(OUTPUT_PATH_MAX);

	buf_printf(&b, "%s/%s", folder, name);
	if (b.error != ERR_OK)
		buf_release(&b);
	return b.data;
}

enum err folder_sync(const char *path, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err error = ERR_OK;

	if (fd < 0)
		return os_failed(fault, path, "cannot be opened");
	/* Some file systems cannot sync a folder, and then do not need it. */
	if (fsync(fd) < 0 && errno != EINVAL)
		error = os_failed(fault, path, "cannot be written to the disk");
	close(fd);
	return error;
}

/* mkdir that survives a power cut. */
static enum err folder_make(const char *path, struct fault *fault)
{
	char *parent;
	size_t slash;
	enum err error;

	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? ERR_OK : os_failed(fault, path, "cannot be created");
	slash = str_rfind(str_of(path), '/');
	parent = slash == strlen(path) ? mem_strdup(".") : mem_strndup(path, slash ? slash : 1);
	if (!parent)
		return ERR_NO_MEMORY;
	error = folder_sync(parent, fault);
	mem_free(parent);
	return error;
}

/* ------------------------------------------------------------------ STORE */

static enum err parse_store_file(struct store_dir *d, const char *path, struct str text,
				 struct fault *fault)
{
	struct str line, value;
	uint64_t format = 0;
	bool seen_seed = false;

	while (str_split(&text, '\n', &line)) {
		size_t space = str_find(line, ' ');

		value = space < line.n ? str_skip(line, space + 1) : (struct str){0};
		line.n = space;
		if (str_eq(line, STR("format")))
			TRY(str_to_u64(value, 10, &format));
		if (str_eq(line, STR("seed"))) {
			TRY(str_to_u64(value, 16, &d->seed));
			seen_seed = true;
		}
	}
	if (format > STORE_FORMAT)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "%s has format version %llu, this vestal reads up to %d: use the "
				 "newer vestal that wrote it",
				 d->path, (unsigned long long)format, STORE_FORMAT);
	if (format < 1 || !seen_seed)
		return fault_set(fault, ERR_CORRUPT, "%s is damaged: no format or no seed in it",
				 path);
	return ERR_OK;
}

static enum err write_store_file(const char *folder, uint64_t seed, struct fault *fault)
{
	char text[120];
	char *path = join(folder, "STORE");
	enum err error = ERR_NO_MEMORY;

	snprintf(text, sizeof(text), "vestal store\nformat %d\nseed %016llx\n", STORE_FORMAT,
		 (unsigned long long)seed);
	if (path)
		error = file_write(path, str_of(text), 0, fault);
	mem_free(path);
	return error == ERR_OK ? folder_sync(folder, fault) : error;
}

/* Tokens may be made before the server starts for the first time. */
static bool is_ours(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "LOCK") == 0 ||
	       strcmp(name, "tokens") == 0 || strcmp(name, "audit.log") == 0 ||
	       strcmp(name, "lost+found") == 0;
}

/* So that a typing error does not turn a home directory into a store. */
static enum err must_be_empty(const char *path, struct fault *fault)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	enum err error = ERR_OK;

	if (!dir)
		return os_failed(fault, path, "cannot be read");
	while (error == ERR_OK && (entry = readdir(dir)))
		if (!is_ours(entry->d_name))
			error = fault_set(fault, ERR_BAD_ARGUMENT,
					  "%s is not a store and not empty (%s is in it): name "
					  "another directory",
					  path, entry->d_name);
	closedir(dir);
	return error;
}

enum err store_dir_begin(const char *path, struct fault *fault)
{
	TRY(folder_make(path, fault));
	return must_be_empty(path, fault);
}

enum err store_dir_finish(const char *path, uint64_t seed, struct fault *fault)
{
	return write_store_file(path, seed, fault);
}

static enum err read_or_make(struct store_dir *d, bool create, struct fault *fault)
{
	struct buf text = BUF_INIT(4096);
	char *path = join(d->path, "STORE");
	enum err error = path ? file_read(path, &text, fault) : ERR_NO_MEMORY;

	if (error == ERR_OK) {
		error = parse_store_file(d, path, buf_view(&text), fault);
	} else if (error == ERR_NOT_FOUND && create) {
		d->seed = hash_random_seed();
		error = must_be_empty(d->path, fault);
		if (error == ERR_OK)
			error = write_store_file(d->path, d->seed, fault);
	} else if (error == ERR_NOT_FOUND) {
		error = fault_set(fault, ERR_NOT_FOUND, "%s is not a store of vestal", d->path);
	}
	buf_release(&text);
	mem_free(path);
	return error;
}

/* ------------------------------------------------------------------ LOCK */

static enum err refuse_second(struct store_dir *d, struct fault *fault)
{
	char pid[24] = "";
	ssize_t n = pread(d->lock_fd, pid, sizeof(pid) - 1, 0);

	while (n > 0 && (pid[n - 1] < '0' || pid[n - 1] > '9'))
		n--;
	pid[n > 0 ? n : 0] = 0;
	return fault_set(fault, ERR_EXISTS,
			 "%s is in use by process %s: stop that one, or use another directory",
			 d->path, pid[0] ? pid : "(unknown)");
}

static enum err take_lock(struct store_dir *d, struct fault *fault)
{
	char pid[24];
	char *path = join(d->path, "LOCK");
	int n = snprintf(pid, sizeof(pid), "%d\n", getpid());

	if (!path)
		return ERR_NO_MEMORY;
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	mem_free(path);
	if (d->lock_fd < 0)
		return os_failed(fault, d->path, "its file LOCK cannot be opened");
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? refuse_second(d, fault)
					    : os_failed(fault, d->path, "cannot be locked");
	/* The pid is for people; the lock is what counts, so a full disk does not matter here. */
	if (ftruncate(d->lock_fd, 0) < 0 || pwrite(d->lock_fd, pid, (size_t)n, 0) < 0)
		return ERR_OK;
	return ERR_OK;
}

enum err store_dir_open(struct store_dir *d, const char *path, bool create, struct fault *fault)
{
	enum err error = ERR_OK;

	d->lock_fd = -1;
	d->path = mem_strdup(path);
	if (!d->path)
		return ERR_NO_MEMORY;
	for (size_t n = strlen(d->path); n > 1 && d->path[n - 1] == '/'; n--)
		d->path[n - 1] = 0;
	if (create)
		error = folder_make(d->path, fault);
	else if (access(d->path, F_OK) < 0)
		error = os_failed(fault, d->path, "cannot be opened");
	if (error == ERR_OK)
		error = take_lock(d, fault);
	if (error == ERR_OK)
		error = read_or_make(d, create, fault);
	if (error != ERR_OK)
		store_dir_close(d);
	return error;
}

void store_dir_close(struct store_dir *d)
{
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	mem_free(d->path);
	d->path = NULL;
	d->lock_fd = -1;
}

/* ------------------------------------------------------------------ tenants */

static bool tenant_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!-_.*'()", c));
}

enum err tenant_check(struct str name, struct fault *fault)
{
	if (!name.n || name.n > TENANT_NAME_MAX)
		return fault_set(fault, ERR_BAD_ARGUMENT, "a tenant's name has 1 to %d characters",
				 TENANT_NAME_MAX);
	for (size_t i = 0; i < name.n; i++)
		if (!tenant_byte(name.p[i]))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "a tenant's name has letters, digits and !-_.*'() only");
	if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
		return fault_set(fault, ERR_BAD_ARGUMENT, "\".\" and \"..\" are no tenants");
	return ERR_OK;
}

/* Names that the file system or this directory has another use for: their first byte in hex. */
static bool needs_escape(struct str name)
{
	return name.p[0] == '.' || str_eq(name, STR("LOCK")) || str_eq(name, STR("STORE")) ||
	       str_eq(name, STR("tokens")) || str_eq(name, STR("audit.log"));
}

enum err tenant_folder(const char *path, struct str tenant, bool make, char **ret,
		       struct fault *fault)
{
	struct buf b = BUF_INIT(OUTPUT_PATH_MAX);
	enum err error;

	TRY(tenant_check(tenant, fault));
	buf_printf(&b, "%s/", path);
	if (needs_escape(tenant)) {
		buf_printf(&b, "%%%02X", (unsigned char)tenant.p[0]);
		tenant = str_skip(tenant, 1);
	}
	buf_str(&b, tenant);
	error = buf_error(&b);
	if (error == ERR_OK && make)
		error = folder_make(b.data, fault);
	if (error == ERR_OK)
		*ret = b.data;
	else
		buf_release(&b);
	return error;
}

/* The tenant of a folder; false if it is none. */
static bool tenant_of_folder(const char *name, char tenant[TENANT_NAME_MAX + 1])
{
	struct str text = str_of(name);
	uint64_t byte;

	if (text.n >= 3 && text.p[0] == '%') {
		if (str_to_u64(str_n(text.p + 1, 2), 16, &byte) != ERR_OK)
			return false;
		tenant[0] = (char)byte;
		text = str_skip(text, 3);
	} else if (text.n && !needs_escape(text)) {
		tenant[0] = text.p[0];
		text = str_skip(text, 1);
	} else {
		return false;
	}
	if (text.n >= TENANT_NAME_MAX)
		return false;
	memcpy(tenant + 1, text.p, text.n);
	tenant[1 + text.n] = 0;
	return tenant_check(str_of(tenant), NULL) == ERR_OK;
}

enum err store_dir_tenants(const char *path, void (*each)(void *context, struct str tenant),
			   void *context, struct fault *fault)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char tenant[TENANT_NAME_MAX + 1];

	if (!dir)
		return os_failed(fault, path, "cannot be read");
	while ((entry = readdir(dir)))
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    tenant_of_folder(entry->d_name, tenant))
			each(context, str_of(tenant));
	closedir(dir);
	return ERR_OK;
}
