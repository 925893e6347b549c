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

struct symbol_shelf;

struct shelf_options {
	const char *folder;	     /* created if missing, with its parents */
	uint64_t max_file, max_size; /* bytes of one, and of all; 0 = any */
	bool drops;		     /* evict the least recently used when it is full */
};

struct shelf_item {
	char build_id[BUILD_ID_TEXT_MAX + 1];
	bool debug; /* a debug file, not a program */
	uint64_t size;
	int64_t kept_s; /* time added, seconds since 1970 */
};

enum err symbol_shelf_new(const struct shelf_options *o, struct symbol_shelf **ret,
			  struct fault *fault) MUST_CHECK;
void symbol_shelf_free(struct symbol_shelf *s);
const char *symbol_shelf_folder(const struct symbol_shelf *s);
bool symbol_shelf_is_empty(struct symbol_shelf *s);
/* Incremented by every addition and removal. */
uint64_t symbol_shelf_changes(struct symbol_shelf *s);
bool symbol_shelf_has(struct symbol_shelf *s, struct str build_id);
bool symbol_shelf_has_debug(struct symbol_shelf *s, struct str build_id);
/* Creates a file in the folder, to be written and passed to symbol_shelf_take. */
enum err symbol_shelf_begin(struct symbol_shelf *s, int *ret_fd, char *path, size_t path_size,
			    struct fault *fault) MUST_CHECK;
/*
 * Validates such a file and adds it, replacing one of the same build id and kind. With `wanted` it
 * must have that build id. On failure it is deleted. The caller keeps `fd`.
 */
enum err symbol_shelf_take(struct symbol_shelf *s, int fd, const char *path, struct str wanted,
			   struct shelf_item *ret, struct fault *fault) MUST_CHECK;
/* Opens a program or a debug file; ERR_NOT_FOUND. The caller owns the descriptor. */
enum err symbol_shelf_open(struct symbol_shelf *s, struct str build_id, bool debug,
			   int *ret_fd) MUST_CHECK;
/* Removes both. ERR_NOT_FOUND if there is neither. */
enum err symbol_shelf_remove(struct symbol_shelf *s, struct str build_id) MUST_CHECK;
/* Calls `each` for all, in order of build ids. It must not use the shelf. */
enum err symbol_shelf_list(struct symbol_shelf *s,
			   enum err (*each)(void *context, const struct shelf_item *item),
			   void *context) MUST_CHECK;
uint64_t symbol_shelf_bytes(struct symbol_shelf *s);
