/* What stands in front of libc: libvestal-preload.so, and in libvestal.a (interpose.h). */
#pragma once

/* Looks for the allocator behind us; harmless when it was found before. */
void preload_find_malloc(void);
/* The same for locks, and with them for what else is waited for. */
void preload_find_locks(void);
void preload_find_blocks(void);
