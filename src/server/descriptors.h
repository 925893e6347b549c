/*
 * File descriptors: how many there are, and how many of them may be connections, so that the store
 * can open its files whatever clients do.
 */
#pragma once

/* Raises the limit of this process as far as it may itself; what it is then. */
unsigned descriptors_raise(void);
/* How many connections fit below a limit of descriptors, at most `wanted`. A quarter of the
 * descriptors, at least 256 where there are enough, stays for files. */
unsigned descriptors_for_connections(unsigned limit, unsigned wanted);
