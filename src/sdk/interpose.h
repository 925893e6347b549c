/*
 * Intercepts functions of libc.
 *
 * In libvestal-preload.so by symbol name: the loader finds ours first, and ours looks up the next
 * one. In libvestal.a, for statically linked programs, by the linker: with -Wl,--wrap=malloc calls
 * of malloc go to __wrap_malloc, and __real_malloc is libc's (vestal.pc has these options).
 */
#pragma once

#define PUBLIC __attribute__((visibility("default")))

#ifdef VESTAL_WRAPPED

#define INTERPOSED(name) __wrap_##name
#define FIND_REAL(pointer, name, version)              \
	do {                                           \
		extern __typeof__(name) __real_##name; \
                                                       \
		pointer = __real_##name;               \
	} while (0)
/* The same for a function that is not intercepted. */
#define FIND_OTHER(pointer, name) ((pointer) = (name))

#else

#include <dlfcn.h>
#include <string.h>

#define INTERPOSED(name) name

static inline void *interpose_find(const char *name, const char *version)
{
	void *found = version ? dlvsym(RTLD_NEXT, name, version) : (void *)0;

	return found ? found : dlsym(RTLD_NEXT, name);
}

/* ISO C has no cast from data to function. A missing function leaves the pointer unchanged. */
#define FIND_REAL(pointer, name, version)                            \
	do {                                                         \
		void *found_ = interpose_find(#name, version);       \
                                                                     \
		if (found_)                                          \
			memcpy(&(pointer), &found_, sizeof(found_)); \
	} while (0)
#define FIND_OTHER(pointer, name) FIND_REAL(pointer, name, NULL)

#endif
