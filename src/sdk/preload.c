/*
 * libvestal-preload.so: LD_PRELOAD it into any unmodified program. The environment configures it
 * (sdk_settings.h). Children of fork() are profiled as well.
 *
 * In a program that is linked statically (interpose.h) VESTAL_START=on begins the same way; without
 * it the program begins by vestal_start().
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "sdk/alloc_sampler.h"
#include "sdk/background.h"
#include "sdk/interpose.h"
#include "sdk/own_threads.h"
#include "sdk/preload.h"

static __typeof__(pthread_create) *real_create;
static pthread_key_t leaving;
static bool has_key, timing;

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

/* Threads that start while profiling is off are found by a scan, if it is switched on. */
static bool is_timed(void)
{
	return timing || (has_key && background_running());
}

static void find_create(void)
{
	FIND_REAL(real_create, pthread_create, NULL);
}

PUBLIC int INTERPOSED(pthread_create)(pthread_t *thread, const pthread_attr_t *attributes,
				      void *(*start)(void *), void *argument)
{
	struct beginning *b;
	bool before = alloc_ignored;
	int failed;

	if (!real_create)
		find_create();
	if (!real_create)
		return EAGAIN;
	if (!is_timed() || before)
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

static enum err begin_with(struct sdk_settings *settings, struct fault *fault)
{
	background_threads_announced();
	background_follow_children();
	/* They may be requested later. */
	timing = settings->types & SDK_TIMERS || settings->control.listen[0];
	return background_start(settings, fault);
}

static void begin_by_environment(void)
{
	static struct sdk_settings settings;
	struct fault fault = {0};
	enum err e = sdk_settings_read(NULL, &settings, &fault);

	/* Sampling can never be switched on. */
	if (!e && settings.control.start_off && !control_can_switch(&settings.control)) {
		alloc_stop();
		return;
	}
	if (!e)
		e = has_key ? begin_with(&settings, &fault) : ERR_NO_MEMORY;
	if (e) {
		timing = false;
		alloc_stop();
		complain(fault.text[0] ? fault.text : err_text(e));
	}
}

static bool begins_by_itself(void)
{
#ifdef VESTAL_WRAPPED
	const char *wanted = getenv("VESTAL_START");

	return wanted && (!strcmp(wanted, "on") || !strcmp(wanted, "1"));
#else
	return true;
#endif
}

__attribute__((constructor)) static void begin(void)
{
	preload_find_malloc();
	preload_find_locks();
	find_create();
	alloc_ignored = true;
	has_key = pthread_key_create(&leaving, leave) == 0;
	sdk_front_types = SDK_ALLOC | SDK_HEAP | SDK_LOCK;
	if (begins_by_itself())
		begin_by_environment();
	else
		alloc_stop();
	alloc_ignored = false;
}
