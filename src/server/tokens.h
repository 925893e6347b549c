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
	TOKEN_OPERATOR = 1 << 3, /* to see numbers of the whole server, and nothing else */
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
/* The file they are in. */
const char *tokens_path(const struct tokens *t);
/* Whether there is a file now or has been one: nobody gets in without a token. `t` may be NULL. */
bool tokens_required(struct tokens *t);
/* "read,write", with `between` for the comma. Returns `room`. */
const char *token_rights_text(unsigned rights, const char *between, char room[TOKEN_RIGHTS_ROOM]);
/* Who a token is; ERR_UNAUTHENTICATED when nobody. Thread safe. */
enum err tokens_check(struct tokens *t, struct str token, struct token_info *ret) MUST_CHECK;

/* Letters, digits and !-_.*'(), as Pyroscope has it; not "." and "..". */
bool tenant_valid(struct str tenant);

/* For the command line: these change the file, whole or not at all, so that only its owner reads
 * it, and write a line into audit.log beside it. Who changes it at the same time waits. */
enum err token_create(const char *path, struct str tenant, unsigned rights, struct str name,
		      struct buf *ret_token, struct fault *fault) MUST_CHECK;
/* Works on a full disk, too; `fault` then contains a warning, despite success, that audit.log could
 * not be written. */
enum err token_revoke(const char *path, struct str id, struct fault *fault) MUST_CHECK;
enum err token_list(const char *path, void (*each)(void *context, const struct token_info *info),
		    void *context, struct fault *fault) MUST_CHECK;
