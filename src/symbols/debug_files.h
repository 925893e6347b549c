/*
 * Finds separate debug files: by build id (<dir>/.build-id/ab/cdef….debug), by the name in
 * .gnu_debuglink (beside the file, in .debug/ beside it, below <dir>), and the file shared by
 * several others (.gnu_debugaltlink). A file is taken only if its build id is the program's or,
 * without build ids, its checksum is that in the program.
 */
#pragma once

#include "symbols/elf_source.h"

struct debug_search {
	const char *root; /* NULL: "" */
	const char *const *directories;
	const char *path; /* of the program, below root */
};

#define DEBUG_PATH_MAX 4096

/* ERR_NOT_FOUND if there is none. `ret_path` gets the path, for messages. */
enum err debug_file_find(const struct debug_search *search, const struct elf_image *program,
			 struct elf_source *ret, char ret_path[DEBUG_PATH_MAX]) MUST_CHECK;
enum err debug_file_find_alternate(const struct debug_search *search, const char *of,
				   const struct elf_image *image,
				   struct elf_source *ret) MUST_CHECK;
/* The build id of the shared file (.gnu_debugaltlink); false if there is none. */
bool debug_file_alternate_id(const struct elf_image *image, struct str *ret);
