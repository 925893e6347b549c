/*
 * The memory limit of this process, and its current use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The lowest limit of the process's control groups (v2 or v1) and the machine; SIZE_MAX if neither
 * can be read. `*ret_group` says whether it was a control group. */
size_t memory_limit_here(bool *ret_group);
/* The default budget of a server: three quarters of its control group's limit (or the limit minus
 * 64 MiB, if that is less), or a quarter of the machine's memory. */
size_t memory_limit_default(void);
/* Private resident memory without pages of files; 0 = unknown. */
size_t memory_resident(void);

/* For tests: as above, under another root than "/". */
size_t memory_limit_below(const char *root, bool *ret_group);
