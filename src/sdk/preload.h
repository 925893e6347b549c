/* The intercepted functions of libc, in libvestal-preload.so and libvestal.a (interpose.h). */
#pragma once

/* Looks up the real allocator; does nothing if that was done. */
void preload_find_malloc(void);
/* The same for locks, conditions and semaphores. */
void preload_find_locks(void);
void preload_find_blocks(void);
