/*
 * A program that becomes another one keeps the signals that wait because they are blocked, and the
 * other has no handler for ours: it would die when it lets them in. The kernel takes the timers'
 * signals away by itself, those of events are taken away here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "sdk/interpose.h"
#include "sdk/own_threads.h"

extern char **environ;

/* Calls the real one, which comes back only when it failed. */
#define BECOME(name, ...)                       \
	do {                                    \
		__typeof__(name) *real_ = NULL; \
                                                \
		FIND_REAL(real_, name, NULL);   \
		threads_before_exec();          \
		if (real_)                      \
			real_(__VA_ARGS__);     \
		else                            \
			errno = ENOSYS;         \
		threads_exec_failed();          \
		return -1;                      \
	} while (0)

PUBLIC int INTERPOSED(execve)(const char *path, char *const argv[], char *const envp[])
{
	BECOME(execve, path, argv, envp);
}

PUBLIC int INTERPOSED(execvpe)(const char *path, char *const argv[], char *const envp[])
{
	BECOME(execvpe, path, argv, envp);
}

PUBLIC int INTERPOSED(fexecve)(int fd, char *const argv[], char *const envp[])
{
	BECOME(fexecve, fd, argv, envp);
}

PUBLIC int INTERPOSED(execv)(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PUBLIC int INTERPOSED(execvp)(const char *path, char *const argv[])
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

/* The arguments up to NULL; later ones remain in the list. */
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

PUBLIC int INTERPOSED(execl)(const char *path, const char *word, ...)
{
	WITH_WORDS(execve(path, words, environ));
}

PUBLIC int INTERPOSED(execlp)(const char *path, const char *word, ...)
{
	WITH_WORDS(execvpe(path, words, environ));
}

PUBLIC int INTERPOSED(execle)(const char *path, const char *word, ...)
{
	WITH_WORDS(execve(path, words, va_arg(list_, char **)));
}
