/*
 * A folder of programs and debug files, each known by its build id. A program and its debug file
 * have the same one. Thread safe.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* A build id in hexadecimal, and its possible sizes. */
#define BUILD_ID_MAX	  64
#define BUILD_ID_TEXT_MAX (2 * BUILD_ID_MAX)
/* Whether this is a valid build id: lower case, 2 to 64 bytes. */
bool build_id_valid(struct str text);
/* Raw bytes to text, truncated at BUILD_ID_MAX. */
void build_id_text(struct str id, char ret[BUILD_ID_TEXT_MAX + 1]);

struct symbol_store;

struct symbol_store_options {
	const char *folder;	     /* created if missing, with its parents */
	uint64_t max_file, max_size; /* bytes of one, and of all; 0 = any */
	bool drops;		     /* evict the least recently used when it is full */
};

struct symbol_item {
	char build_id[BUILD_ID_TEXT_MAX + 1];
	bool debug; /* a debug file, not a program */
	uint64_t size;
	int64_t kept_s; /* time added, seconds since 1970 */
};

enum err symbol_store_new(const struct symbol_store_options *o, struct symbol_store **ret,
			  struct fault *fault) MUST_CHECK;
void symbol_store_free(struct symbol_store *s);
const char *symbol_store_folder(const struct symbol_store *s);
bool symbol_store_is_empty(struct symbol_store *s);
/* Incremented by every addition and removal. */
uint64_t symbol_store_changes(struct symbol_store *s);
bool symbol_store_has(struct symbol_store *s, struct str build_id);
bool symbol_store_has_debug(struct symbol_store *s, struct str build_id);
/* Creates a file in the folder, to be written and passed to symbol_store_take. */
enum err symbol_store_begin(struct symbol_store *s, int *ret_fd, char *path, size_t path_size,
			    struct fault *fault) MUST_CHECK;
/*
 * Validates such a file and adds it, replacing one of the same build id and kind. With `wanted` it
 * must have that build id. On failure it is deleted. The caller keeps `fd`.
 */
enum err symbol_store_take(struct symbol_store *s, int fd, const char *path, struct str wanted,
			   struct symbol_item *ret, struct fault *fault) MUST_CHECK;
/* Opens a program or a debug file; ERR_NOT_FOUND. The caller owns the descriptor. */
enum err symbol_store_open(struct symbol_store *s, struct str build_id, bool debug,
			   int *ret_fd) MUST_CHECK;
/* Removes both. ERR_NOT_FOUND if there is neither. */
enum err symbol_store_remove(struct symbol_store *s, struct str build_id) MUST_CHECK;
/* Calls `each` for all, in order of build ids. It must not use the store. */
enum err symbol_store_list(struct symbol_store *s,
			   enum err (*each)(void *context, const struct symbol_item *item),
			   void *context) MUST_CHECK;
uint64_t symbol_store_bytes(struct symbol_store *s);
