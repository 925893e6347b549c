/*
 * How much memory there is for this process, and how much it has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The least that a control group of this process (v2 or v1) or its machine allows; SIZE_MAX when
 * neither can be read. `*ret_group` says whether it was a control group. */
size_t memory_limit_here(bool *ret_group);
/* What a server takes when nobody says otherwise: three quarters of its control group's limit (with
 * 64 MiB left over, where that is more), or a quarter of the machine. */
size_t memory_limit_default(void);
/* Bytes in memory that belong to the process alone, pages of files left out; 0 = not known. */
size_t memory_resident(void);

/* For tests: as above, under another root than "/". */
size_t memory_limit_below(const char *root, bool *ret_group);
