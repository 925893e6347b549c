#include "server/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "base/vec.h"
#include "server/audit.h"

#define PREFIX	     "vst_"
#define SECRET_BYTES 32
#define MAX_FILE     ((size_t)4 << 20)
#define TRY_AGAIN_NS NS_PER_S

struct token_entry {
	char hash[65];
	struct token_info info;
};

struct token_list {
	struct token_entry *v;
	size_t n, cap;
};

/* Tells whether a file is still the one that was read; all zero is none. */
struct file_version {
	struct timespec changed, touched;
	dev_t device;
	ino_t inode;
	off_t size;
};

struct tokens {
	char *path;
	struct mutex lock;
	struct token_list list;
	struct file_version version;
	bool required;	   /* the file has existed: requests need a token from then on */
	int64_t failed_ns; /* when it could not be read; 0 = it could */
};

static void put_hex(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

static void hash_token(struct str token, char ret[65])
{
	uint8_t digest[SHA256_BYTES];

	sha256(token, digest);
	put_hex(digest, sizeof(digest), ret);
}

bool tenant_valid(struct str tenant)
{
	if (!tenant.n || tenant.n > TOKEN_MAX_TENANT || str_eq(tenant, STR(".")) ||
	    str_eq(tenant, STR("..")))
		return false;
	for (size_t i = 0; i < tenant.n; i++) {
		char c = tenant.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c && strchr("!-_.*'()", c))))
			return false;
	}
	return true;
}

static bool copy_text(char *to, size_t size, struct str text)
{
	if (text.n >= size || memchr(text.p, '\n', text.n))
		return false;
	memcpy(to, text.p, text.n);
	to[text.n] = '\0';
	return true;
}

static unsigned parse_rights(struct str text)
{
	unsigned rights = 0;
	struct str part;

	while (str_split(&text, ',', &part))
		rights |= str_eq(part, STR("read"))	  ? TOKEN_READ
			  : str_eq(part, STR("write"))	  ? TOKEN_WRITE
			  : str_eq(part, STR("admin"))	  ? TOKEN_ADMIN
			  : str_eq(part, STR("operator")) ? TOKEN_OPERATOR
							  : 0;
	return rights;
}

static bool parse_line(struct str line, struct token_entry *ret)
{
	struct str part[5];

	for (size_t i = 0; i < 5; i++)
		if (!str_split(&line, ' ', &part[i]))
			return false;
	*ret = (struct token_entry){0};
	ret->info.rights = parse_rights(part[3]);
	return copy_text(ret->info.id, sizeof(ret->info.id), part[0]) && part[1].n == 64 &&
	       tenant_valid(part[2]) && copy_text(ret->hash, sizeof(ret->hash), part[1]) &&
	       copy_text(ret->info.tenant, sizeof(ret->info.tenant), part[2]) &&
	       str_to_i64(part[4], &ret->info.created) == ERR_OK &&
	       copy_text(ret->info.name, sizeof(ret->info.name), line);
}

static enum err parse_file(const char *path, struct str text, struct token_list *ret,
			   struct fault *fault)
{
	struct str line;

	for (size_t number = 1; str_split(&text, '\n', &line); number++) {
		struct token_entry entry;

		line = str_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		if (!parse_line(line, &entry))
			return fault_set(fault, ERR_CORRUPT,
					 "%s line %zu is no token; make it again with vestal token",
					 path, number);
		TRY(vec_push(ret, entry));
	}
	return ERR_OK;
}

static enum err read_list(const char *path, struct token_list *ret, struct fault *fault)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_FILE);
	enum err error = file_read(path, &text, fault);

	if (error == ERR_OK)
		error = parse_file(path, buf_view(&text), ret, fault);
	if (error != ERR_OK)
		vec_release(ret);
	return error;
}

/* False: there is no such file. One that cannot be checked is assumed to exist. */
static bool find_version(const char *path, struct file_version *ret)
{
	struct stat st;

	*ret = (struct file_version){0};
	if (stat(path, &st))
		return errno != ENOENT && errno != ENOTDIR;
	*ret = (struct file_version){st.st_mtim, st.st_ctim, st.st_dev, st.st_ino, st.st_size};
	return true;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_version(const struct file_version *a, const struct file_version *b)
{
	return same_time(&a->changed, &b->changed) && same_time(&a->touched, &b->touched) &&
	       a->device == b->device && a->inode == b->inode && a->size == b->size;
}

enum err tokens_open(const char *path, bool may_be_missing, struct tokens **ret,
		     struct fault *fault)
{
	struct tokens *t = mem_zalloc(1, sizeof(*t));
	enum err error = ERR_NO_MEMORY;

	if (!t)
		return ERR_NO_MEMORY;
	mutex_init(&t->lock);
	t->path = mem_strdup(path);
	if (t->path) {
		t->required = find_version(path, &t->version) || !may_be_missing;
		error = t->required ? read_list(path, &t->list, fault) : ERR_OK;
	}
	if (error != ERR_OK)
		tokens_close(t);
	else
		*ret = t;
	return error;
}

void tokens_close(struct tokens *t)
{
	if (!t)
		return;
	vec_release(&t->list);
	mutex_release(&t->lock);
	mem_free(t->path);
	mem_free(t);
}

const char *tokens_path(const struct tokens *t)
{
	return t->path;
}

static void read_again(struct tokens *t)
{
	struct fault fault = {0};
	enum err error;

	vec_release(&t->list);
	t->required = true;
	error = read_list(t->path, &t->list, &fault);
	t->failed_ns = error ? clock_monotonic_ns() : 0;
	if (error)
		log_error("all requests are refused: the token file cannot be read",
			  log_text("reason", fault.text[0] ? fault.text : err_text(error)));
	else
		log_info("tokens have changed", log_u64("tokens", t->list.n));
}

/*
 * Called for every request, so that created and revoked tokens take effect immediately. If the file
 * was deleted or is unreadable, all requests are refused; reading it is retried after a second.
 */
static void refresh(struct tokens *t)
{
	struct file_version version;
	bool there = find_version(t->path, &version);

	if (!there) {
		vec_release(&t->list);
		t->version = version;
		return;
	}
	if (t->required && same_version(&version, &t->version) &&
	    (!t->failed_ns || clock_monotonic_ns() - t->failed_ns < TRY_AGAIN_NS))
		return;
	t->version = version;
	read_again(t);
}

bool tokens_required(struct tokens *t)
{
	bool required;

	if (!t)
		return false;
	mutex_lock(&t->lock);
	refresh(t);
	required = t->required;
	mutex_unlock(&t->lock);
	return required;
}

enum err tokens_check(struct tokens *t, struct str token, struct token_info *ret)
{
	enum err error = ERR_UNAUTHENTICATED;
	char hash[65];

	if (!str_starts(token, STR(PREFIX)))
		return ERR_UNAUTHENTICATED;
	hash_token(token, hash);
	mutex_lock(&t->lock);
	refresh(t);
	vec_for_each (entry, &t->list)
		if (!memcmp(entry->hash, hash, 64)) {
			*ret = entry->info;
			error = ERR_OK;
		}
	mutex_unlock(&t->lock);
	return error;
}

const char *token_rights_text(unsigned rights, const char *between, char room[TOKEN_RIGHTS_ROOM])
{
	static const struct {
		unsigned right;
		const char *name;
	} names[] = {{TOKEN_READ, "read"},
		     {TOKEN_WRITE, "write"},
		     {TOKEN_ADMIN, "admin"},
		     {TOKEN_OPERATOR, "operator"}};
	size_t n = 0;

	room[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (rights & names[i].right)
			n += (size_t)snprintf(room + n, TOKEN_RIGHTS_ROOM - n, "%s%s",
					      n ? between : "", names[i].name);
	return room;
}

static void print_entry(const struct token_entry *e, struct buf *out)
{
	char rights[TOKEN_RIGHTS_ROOM];

	buf_printf(out, "%s %s %s %s, %lld %s\n", e->info.id, e->hash, e->info.tenant,
		   token_rights_text(e->info.rights, ",", rights), (long long)e->info.created,
		   e->info.name);
}

static enum err write_list(const char *path, const struct token_list *list, struct fault *fault)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_FILE);

	buf_text(&text, "# Tokens of a Vestal server; change with: vestal token\n");
	vec_for_each (entry, list)
		print_entry(entry, &text);
	TRY(buf_error(&text));
	return file_write(path, buf_view(&text), OUTPUT_FORCE | OUTPUT_PRIVATE, fault);
}

/* The list of a file that need not be there yet. */
static enum err read_or_empty(const char *path, struct token_list *ret, struct fault *fault)
{
	struct stat st;

	return stat(path, &st) ? ERR_OK : read_list(path, ret, fault);
}

static enum err make_secret(char token[sizeof(PREFIX) + 2 * SECRET_BYTES], char id[17])
{
	unsigned char secret[SECRET_BYTES], number[8];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret) ||
	    getrandom(number, sizeof(number), 0) != sizeof(number))
		return ERR_INTERNAL;
	memcpy(token, PREFIX, sizeof(PREFIX) - 1);
	put_hex(secret, sizeof(secret), token + sizeof(PREFIX) - 1);
	put_hex(number, sizeof(number), id);
	return ERR_OK;
}

static void audit_closep(struct audit **audit)
{
	audit_close(*audit);
}

static void token_list_release(struct token_list *list)
{
	vec_release(list);
}

static enum err audit_token(struct audit *audit, const char *action, const struct token_entry *e,
			    struct fault *fault)
{
	char rights[TOKEN_RIGHTS_ROOM];

	token_rights_text(e->info.rights, " ", rights);
	struct audit_pair pairs[] = {{"token", str_of(e->info.id)},
				     {"tenant", str_of(e->info.tenant)},
				     {"rights", str_of(rights)},
				     {"name", str_of(e->info.name)}};

	return audit_write(audit, action, pairs, 4, fault);
}

static enum err add_token(const char *path, const struct token_entry *entry, struct fault *fault)
{
	CLEANUP(token_list_release) struct token_list list = {0};
	CLEANUP(audit_closep) struct audit *audit = NULL;

	TRY(audit_lock_beside(path, &audit, fault));
	TRY(read_or_empty(path, &list, fault));
	TRY(vec_push(&list, *entry));
	/* Write the audit line first: a missing line for a token would be worse than a superfluous
	 * one. */
	TRY(audit_token(audit, "token_create", entry, fault));
	return write_list(path, &list, fault);
}

enum err token_create(const char *path, struct str tenant, unsigned rights, struct str name,
		      struct buf *ret_token, struct fault *fault)
{
	struct token_entry entry = {
		.info = {.rights = rights, .created = clock_wall_ns() / NS_PER_S}};
	char token[sizeof(PREFIX) + 2 * SECRET_BYTES];
	enum err error;

	if (!tenant_valid(tenant))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "a tenant has 1 to %d letters, digits and !-_.*'()",
				 TOKEN_MAX_TENANT);
	if (!copy_text(entry.info.tenant, sizeof(entry.info.tenant), tenant) ||
	    !copy_text(entry.info.name, sizeof(entry.info.name), name))
		return fault_set(fault, ERR_BAD_ARGUMENT, "a name has up to 100 characters");
	TRY(make_secret(token, entry.info.id));
	hash_token(str_of(token), entry.hash);
	/* The audit line comes first: without space for it nothing is created. */
	buf_text(ret_token, token);
	error = buf_error(ret_token);
	if (error == ERR_OK)
		error = add_token(path, &entry, fault);
	if (error != ERR_OK)
		buf_clear(ret_token);
	explicit_bzero(token, sizeof(token));
	return error;
}

/* The file offset of a token's line. */
static enum err find_line(const char *path, struct str id, off_t *ret, struct fault *fault)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_FILE);
	struct str rest, line;

	TRY(file_read(path, &text, fault));
	rest = buf_view(&text);
	while (str_split(&rest, '\n', &line)) {
		struct str first, trimmed = str_trim(line);

		if (str_split(&trimmed, ' ', &first) && str_eq(first, id)) {
			*ret = first.p - text.data;
			return ERR_OK;
		}
	}
	return ERR_NOT_FOUND;
}

/* Turns its line into a comment in place: overwriting one byte works on a full disk. */
static enum err strike_out(const char *path, struct str id, struct fault *fault)
{
	off_t at = 0;
	int fd, os = 0;

	TRY(find_line(path, id, &at, fault));
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || pwrite(fd, "#", 1, at) != 1 || fsync(fd))
		os = errno;
	if (fd >= 0)
		close(fd);
	return os ? fault_set(fault, err_from_errno(os), "%s cannot be written: %s", path,
			      strerror(os))
		  : ERR_OK;
}

enum err token_revoke(const char *path, struct str id, struct fault *fault)
{
	CLEANUP(token_list_release) struct token_list list = {0};
	CLEANUP(audit_closep) struct audit *audit = NULL;
	struct fault unaudited = {0};
	struct token_entry revoked;
	size_t kept = 0;
	enum err error;

	TRY(audit_lock_beside(path, &audit, fault));
	TRY(read_list(path, &list, fault));
	for (size_t i = 0; i < list.n; i++) {
		if (str_eq(str_of(list.v[i].info.id), id))
			revoked = list.v[i];
		else
			list.v[kept++] = list.v[i];
	}
	if (kept == list.n)
		return fault_set(fault, ERR_NOT_FOUND, "there is no token %.*s in %s",
				 (int)(id.n < 60 ? id.n : 60), id.p, path);
	list.n = kept;
	error = audit_token(audit, "token_revoke", &revoked, fault);
	/* Revoke on a full disk, too. */
	if (error == ERR_NO_SPACE)
		(void)fault_set(&unaudited, ERR_OK,
				"the disk is full: audit.log has no line about %.*s", (int)id.n,
				id.p);
	else
		TRY(error);
	error = write_list(path, &list, fault);
	if (error == ERR_NO_SPACE)
		error = strike_out(path, id, fault);
	if (error == ERR_OK && fault)
		*fault = unaudited;
	return error;
}

enum err token_list(const char *path, void (*each)(void *context, const struct token_info *info),
		    void *context, struct fault *fault)
{
	struct token_list list = {0};

	TRY(read_list(path, &list, fault));
	vec_for_each (entry, &list)
		each(context, &entry->info);
	vec_release(&list);
	return ERR_OK;
}
