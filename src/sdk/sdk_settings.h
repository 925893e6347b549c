/*
 * Settings from the program's options and the environment. All strings are copies.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "sdk/control_settings.h"
#include "unwind/unwind_format.h"

enum sdk_types {
	SDK_CPU = 1,
	SDK_ALLOC = 2,
	SDK_HEAP = 4,
	SDK_LOCK = 8,
	SDK_WALL = 16,
	SDK_THREADS = 32,
	/* Types that need a timer per thread. */
	SDK_TIMERS = SDK_CPU | SDK_WALL | SDK_THREADS,
};

struct vestal_options;

struct sdk_settings {
	char service[256], host[256], program[4096];
	char attributes[4096];			   /* "a=b,c=d" */
	char headers[4096];			   /* "Name: value\r\n" each */
	char host_name[256], port[16], path[1024]; /* of the receiver */
	bool tls;				   /* https:// */
	char ca[1024], certificate[1024], key[1024];
	char output[4096]; /* empty = send */
	bool gzip;
	unsigned types;
	u32 rate_hz, interval_ms, timeout_ms;
	u32 depth, max_rows, max_bytes;
	u64 alloc_interval; /* bytes */
	struct control_settings control;
	u64 lock_interval; /* nanoseconds */
};

/* `o` may be NULL. The fault names the invalid option or variable. */
/* Adds types that need interception of libc, which the linked library does not have.
 */
extern unsigned sdk_front_types;

enum err sdk_settings_read(const struct vestal_options *o, struct sdk_settings *ret,
			   struct fault *fault) MUST_CHECK;
/* "cpu" … */
const char *sdk_type_name(unsigned type);
/* Sampling rate, of which rate_hz are kept. */
u32 sdk_timer_rate(const struct sdk_settings *s);
