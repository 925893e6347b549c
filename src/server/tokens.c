#include "server/tokens.h"

#include <sys/random.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "base/vec.h"

#define PREFIX	       "vst_"
#define SECRET_BYTES   32
#define MAX_FILE       ((size_t)4 << 20)
#define CHECK_AGAIN_NS NS_PER_S

struct token_entry {
	char hash[65];
	struct token_info info;
};

struct token_list {
	struct token_entry *v;
	size_t n, cap;
};

struct tokens {
	char *path;
	struct mutex lock;
	struct token_list list;
	struct timespec changed; /* of the file that was read */
	int64_t looked_ns;
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
		rights |= str_eq(part, STR("read"))    ? TOKEN_READ
			  : str_eq(part, STR("write")) ? TOKEN_WRITE
			  : str_eq(part, STR("admin")) ? TOKEN_ADMIN
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
	       copy_text(ret->hash, sizeof(ret->hash), part[1]) &&
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

static struct timespec changed_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mtim : (struct timespec){0};
}

enum err tokens_open(const char *path, struct tokens **ret, struct fault *fault)
{
	struct tokens *t = mem_zalloc(1, sizeof(*t));
	enum err error = ERR_NO_MEMORY;

	if (!t)
		return ERR_NO_MEMORY;
	mutex_init(&t->lock);
	t->path = mem_strdup(path);
	if (t->path) {
		t->changed = changed_at(path);
		error = read_list(path, &t->list, fault);
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

/* Once a second at most; a file that became unreadable lets nobody in. */
static void refresh(struct tokens *t)
{
	int64_t now = clock_monotonic_ns();

	if (now - t->looked_ns < CHECK_AGAIN_NS)
		return;
	t->looked_ns = now;
	struct timespec changed = changed_at(t->path);

	if (changed.tv_sec == t->changed.tv_sec && changed.tv_nsec == t->changed.tv_nsec)
		return;
	t->changed = changed;
	vec_release(&t->list);
	(void)!read_list(t->path, &t->list, NULL);
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

static void print_entry(const struct token_entry *e, struct buf *out)
{
	buf_printf(out, "%s %s %s %s%s%s %lld %s\n", e->info.id, e->hash, e->info.tenant,
		   e->info.rights & TOKEN_READ ? "read," : "",
		   e->info.rights & TOKEN_WRITE ? "write," : "",
		   e->info.rights & TOKEN_ADMIN ? "admin," : "", (long long)e->info.created,
		   e->info.name);
}

static enum err write_list(const char *path, const struct token_list *list, struct fault *fault)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_FILE);

	buf_text(&text, "# Tokens of a Vestal server; change with: vestal token\n");
	vec_for_each (entry, list)
		print_entry(entry, &text);
	TRY(buf_error(&text));
	return file_write(path, buf_view(&text), OUTPUT_FORCE, fault);
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

enum err token_create(const char *path, struct str tenant, unsigned rights, struct str name,
		      struct buf *ret_token, struct fault *fault)
{
	CLEANUP(mem_free_ptr) struct token_entry *entries = NULL;
	struct token_list list = {0};
	struct token_entry entry = {
		.info = {.rights = rights, .created = clock_wall_ns() / NS_PER_S}};
	char token[sizeof(PREFIX) + 2 * SECRET_BYTES];
	enum err error;

	if (!tenant.n || memchr(tenant.p, ' ', tenant.n) ||
	    !copy_text(entry.info.tenant, sizeof(entry.info.tenant), tenant) ||
	    !copy_text(entry.info.name, sizeof(entry.info.name), name))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "a tenant has up to %d characters and no spaces, a name up to 100",
				 TOKEN_MAX_TENANT);
	TRY(make_secret(token, entry.info.id));
	hash_token(str_of(token), entry.hash);
	error = read_or_empty(path, &list, fault);
	if (error == ERR_OK)
		error = vec_push(&list, entry);
	if (error == ERR_OK)
		error = write_list(path, &list, fault);
	entries = list.v;
	if (error == ERR_OK)
		buf_text(ret_token, token);
	return error;
}

enum err token_revoke(const char *path, struct str id, struct fault *fault)
{
	CLEANUP(mem_free_ptr) struct token_entry *entries = NULL;
	struct token_list list = {0};
	size_t kept = 0;

	TRY(read_list(path, &list, fault));
	entries = list.v;
	for (size_t i = 0; i < list.n; i++)
		if (!str_eq(str_of(list.v[i].info.id), id))
			list.v[kept++] = list.v[i];
	if (kept == list.n)
		return fault_set(fault, ERR_NOT_FOUND, "there is no token %.*s in %s", (int)id.n,
				 id.p, path);
	list.n = kept;
	return write_list(path, &list, fault);
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
