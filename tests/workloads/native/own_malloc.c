/*
 * A program with an allocator of its own, in memory that was there from the start. Threads, files
 * and a child use it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM ((size_t)256 << 20)

static _Alignas(4096) char room[ROOM];
static atomic_size_t used;

/* The size lies before each piece. Nothing is given back. */
static void *take(size_t alignment, size_t size)
{
	size_t need = size + alignment + 16, at = atomic_fetch_add(&used, need);
	uintptr_t p;

	if (need < size || at + need > ROOM)
		return NULL;
	p = ((uintptr_t)room + at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
	((size_t *)p)[-1] = size;
	return (void *)p;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void *calloc(size_t count, size_t size)
{
	return take(16, count * size);
}

void free(void *p)
{
	/* What another allocator gave must not come here. */
	if (p && (uintptr_t)p - (uintptr_t)room >= ROOM)
		abort();
}

void *realloc(void *p, size_t size)
{
	void *to = take(16, size);
	size_t had = p ? ((size_t *)p)[-1] : 0;

	free(p);
	return p && to ? memcpy(to, p, had < size ? had : size) : to;
}

void *memalign(size_t alignment, size_t size)
{
	return take(alignment < 16 ? 16 : alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	*ret = memalign(alignment, size);
	return 0;
}

static void *run(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		char *text = strdup("some text");

		text = realloc(text, 40 + (size_t)i % 100);
		free(text);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[8];
	FILE *file = tmpfile();
	int status = 1;
	pid_t child;

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	fprintf(file, "%d\n", 7);
	fclose(file);
	child = fork();
	if (!child) {
		run(NULL);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("%d\n", status);
	return 0;
}
