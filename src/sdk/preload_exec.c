/*
 * A program that becomes another one keeps the signals that wait because they are blocked, and the
 * other has no handler for ours: it would die when it lets them in. The kernel takes the timers'
 * signals away by itself, those of events are taken away here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sdk/own_threads.h"

#define PUBLIC __attribute__((visibility("default")))

extern char **environ;

/* ISO C has no cast from data to function. */
#define REAL(name, ...)                                  \
	do {                                             \
		int (*real_)(__VA_ARGS__);               \
		void *found_ = dlsym(RTLD_NEXT, #name);  \
                                                         \
		memcpy(&real_, &found_, sizeof(found_)); \
		threads_before_exec();                   \
		if (real_)                               \
			CALL(real_);                     \
		else                                     \
			errno = ENOSYS;                  \
		threads_exec_failed();                   \
		return -1;                               \
	} while (0)

#define CALL(real) real(path, argv, envp)
PUBLIC int execve(const char *path, char *const argv[], char *const envp[])
{
	REAL(execve, const char *, char *const[], char *const[]);
}

PUBLIC int execvpe(const char *path, char *const argv[], char *const envp[])
{
	REAL(execvpe, const char *, char *const[], char *const[]);
}
#undef CALL

#define CALL(real) real(fd, argv, envp)
PUBLIC int fexecve(int fd, char *const argv[], char *const envp[])
{
	REAL(fexecve, int, char *const[], char *const[]);
}
#undef CALL

PUBLIC int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PUBLIC int execvp(const char *path, char *const argv[])
{
	return execvpe(path, argv, environ);
}

/* ------------------------------------------------------------------ arguments one by one */

static size_t count_words(va_list list)
{
	size_t n = 0;

	while (va_arg(list, char *))
		n++;
	return n;
}

/* The words up to NULL; what comes behind it is left in the list. */
static void copy_words(va_list *list, char *first, char **to)
{
	*to++ = first;
	while ((*to++ = va_arg(*list, char *)))
		;
}

/* On the stack, as libc does it: this may be the child of vfork(). */
#define WITH_WORDS(call)                                             \
	do {                                                         \
		va_list list_;                                       \
		size_t n_;                                           \
		char **words;                                        \
                                                                     \
		va_start(list_, word);                               \
		n_ = count_words(list_);                             \
		va_end(list_);                                       \
		words = __builtin_alloca((n_ + 2) * sizeof(*words)); \
		va_start(list_, word);                               \
		copy_words(&list_, (char *)(uintptr_t)word, words);  \
		call;                                                \
		va_end(list_);                                       \
		return -1;                                           \
	} while (0)

PUBLIC int execl(const char *path, const char *word, ...)
{
	WITH_WORDS(execve(path, words, environ));
}

PUBLIC int execlp(const char *path, const char *word, ...)
{
	WITH_WORDS(execvpe(path, words, environ));
}

PUBLIC int execle(const char *path, const char *word, ...)
{
	WITH_WORDS(execve(path, words, va_arg(list_, char **)));
}
