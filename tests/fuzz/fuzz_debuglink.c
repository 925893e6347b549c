/*
 * The sections of an ELF file that name other files: .gnu_debuglink, .gnu_debugaltlink and the
 * build id. What they say is looked for where nothing is; the path is a text, and the id lies in
 * the file.
 */
#include <stdlib.h>

#include "symbols/debug_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const nowhere[] = {"/nonexistent", NULL};
	struct debug_search search = {"/nonexistent", nowhere, "/nonexistent/program"};
	char *copy = mem_alloc(size + !size), path[DEBUG_PATH_MAX];
	struct elf_source found = {0};
	struct elf_image image;
	struct str id;

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (elf_image_init(&image, str_n(copy, size)) == ERR_OK) {
		if (debug_file_find(&search, &image, &found, path) != ERR_NOT_FOUND ||
		    debug_file_find_alternate(&search, "/nonexistent/x", &image, &found) !=
			    ERR_NOT_FOUND)
			abort();
		if (debug_file_alternate_id(&image, &id) &&
		    (id.p < copy || id.p + id.n > copy + size))
			abort();
		elf_image_release(&image);
	}
	mem_free(copy);
	return 0;
}
