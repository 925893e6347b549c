/*
 * The limit of file descriptors, and the number reserved for connections, so that the store can
 * always open its files.
 */
#pragma once

/* Raises the limit of this process to its hard limit, and returns it. */
unsigned descriptors_raise(void);
/* How many connections fit a limit of descriptors, at most `wanted`. A quarter of the descriptors,
 * if possible at least 256, is reserved for files. */
unsigned descriptors_for_connections(unsigned limit, unsigned wanted);
