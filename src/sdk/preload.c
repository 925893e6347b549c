/*
 * libvestal-preload.so: LD_PRELOAD it into any program. The environment says what to do
 * (sdk_settings.h); the program knows nothing of it. Children of fork() are profiled as well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "sdk/alloc_sampler.h"
#include "sdk/background.h"
#include "sdk/own_threads.h"
#include "sdk/preload.h"

#define PUBLIC __attribute__((visibility("default")))

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *real_create;
static pthread_key_t leaving;
static bool timing;

/* ------------------------------------------------------------------ threads */

struct beginning {
	void *(*start)(void *);
	void *argument;
};

static void leave(void *unused)
{
	(void)unused;
	threads_leave();
}

static void *begin_thread(void *argument)
{
	struct beginning b = *(struct beginning *)argument;

	alloc_ignored = true;
	mem_free(argument);
	threads_enter(b.start);
	/* However the thread ends, this is called. */
	pthread_setspecific(leaving, &leaving);
	alloc_ignored = false;
	return b.start(b.argument);
}

static void find_create(void)
{
	void *found = dlsym(RTLD_NEXT, "pthread_create");

	memcpy(&real_create, &found, sizeof(found));
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument)
{
	struct beginning *b;
	bool before = alloc_ignored;
	int failed;

	if (!real_create)
		find_create();
	if (!real_create)
		return EAGAIN;
	if (!timing || before)
		return real_create(thread, attributes, start, argument);
	alloc_ignored = true;
	b = mem_alloc(sizeof(*b));
	alloc_ignored = before;
	if (!b)
		return EAGAIN;
	*b = (struct beginning){start, argument};
	failed = real_create(thread, attributes, begin_thread, b);
	if (failed)
		mem_free(b);
	return failed;
}

/* ------------------------------------------------------------------ begin */

static void complain(const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "libvestal-preload: %s\n", text);

	if (n > 0)
		(void)!write_all(2, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

__attribute__((constructor)) static void begin(void)
{
	static struct sdk_settings settings;
	struct fault fault = {0};
	enum err e;

	preload_find_malloc();
	preload_find_locks();
	find_create();
	alloc_ignored = true;
	e = sdk_settings_read(NULL, &settings, &fault);
	/* Nobody can ever switch it on. */
	if (!e && settings.control.start_off && !control_can_switch(&settings.control)) {
		alloc_stop();
		alloc_ignored = false;
		return;
	}
	if (!e && pthread_key_create(&leaving, leave) != 0)
		e = ERR_NO_MEMORY;
	if (!e) {
		background_threads_announced();
		background_follow_children();
		/* Somebody may ask for them later. */
		timing = settings.types & SDK_TIMERS || settings.control.listen[0];
		e = background_start(&settings, &fault);
	}
	alloc_ignored = false;
	if (e) {
		timing = false;
		alloc_stop();
		complain(fault.text[0] ? fault.text : err_text(e));
	}
}
