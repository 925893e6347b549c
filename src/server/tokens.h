/*
 * Bearer tokens. A token is 32 random bytes in hex after "vst_"; the file contains only its SHA-256
 * and its rights, so that a copy of the file grants no access. The file is text, one line each:
 *
 *	<id> <sha256 of the token> <tenant> <rights> <created, Unix seconds> <name>
 *
 * Every request checks whether the file has changed, and reads it again if so. A new token, also
 * the first one, and a revocation therefore take effect with the next request. If the file cannot
 * be read, or was deleted, all requests are refused.
 */
#pragma once

#include "base/buf.h"

enum token_rights {
	TOKEN_READ = 1 << 0,
	TOKEN_WRITE = 1 << 1,
	TOKEN_ADMIN = 1 << 2,
	TOKEN_OPERATOR = 1 << 3, /* only to see metrics of the whole server */
};

#define TOKEN_MAX_TENANT  150
#define TOKEN_RIGHTS_ROOM 40

struct tokens;

struct token_info {
	char id[17];
	char tenant[TOKEN_MAX_TENANT + 1];
	unsigned rights;
	int64_t created;
	char name[101];
};

/* ERR_NOT_FOUND without a file, unless it may be missing. */
enum err tokens_open(const char *path, bool may_be_missing, struct tokens **ret,
		     struct fault *fault) MUST_CHECK;
void tokens_close(struct tokens *t);
/* Their file. */
const char *tokens_path(const struct tokens *t);
/* Whether there is or was a file, so that requests need a token. `t` may be NULL. */
bool tokens_required(struct tokens *t);
/* "read,write", with `between` for the comma. Returns `room`. */
const char *token_rights_text(unsigned rights, const char *between, char room[TOKEN_RIGHTS_ROOM]);
/* Looks up a token; ERR_UNAUTHENTICATED if unknown. Thread safe. */
enum err tokens_check(struct tokens *t, struct str token, struct token_info *ret) MUST_CHECK;

/* Letters, digits and !-_.*'(), as in Pyroscope; not "." and "..". */
bool tenant_valid(struct str tenant);

/* For the command line: change the file atomically, with mode 0600, and add a line to audit.log
 * next to it. Concurrent changes are serialized. */
enum err token_create(const char *path, struct str tenant, unsigned rights, struct str name,
		      struct buf *ret_token, struct fault *fault) MUST_CHECK;
/* Works on a full disk, too; `fault` then contains a warning, despite success, that audit.log could
 * not be written. */
enum err token_revoke(const char *path, struct str id, struct fault *fault) MUST_CHECK;
enum err token_list(const char *path, void (*each)(void *context, const struct token_info *info),
		    void *context, struct fault *fault) MUST_CHECK;
