/*
 * libvestal: profiles the calling process, and sends the profiles to a server or writes them to
 * files.
 *
 *	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
 *	struct vestal *v;
 *
 *	o.service_name = "checkout";
 *	if (vestal_start(&o, &v))
 *		fprintf(stderr, "%s\n", vestal_last_error());
 *	...
 *	vestal_stop(v);
 *
 * All threads are profiled, existing and new ones. Samples are taken in a signal handler without
 * allocations and locks, by an otherwise unused real-time signal; a background thread symbolizes,
 * encodes and sends them. At exit() the remaining samples are sent, which takes at most a second.
 *
 * There is one profiler per process: a second vestal_start() fails until vestal_stop(). A child of
 * fork() is not profiled until it calls vestal_start() itself; vestal_stop() of its parent's handle
 * does nothing there.
 *
 * Every function may be called from any thread, but none from a signal handler.
 */
#ifndef VESTAL_H
#define VESTAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VESTAL_API __attribute__((visibility("default")))

struct vestal;

/*
 * Options. The first member is the size, so that later versions may add members: initialize with
 * VESTAL_OPTIONS_DEFAULT. NULL and 0 mean the environment variable, else the default. The strings
 * need only be valid until vestal_start() returns.
 */
struct vestal_options {
	size_t size;
	/* OTEL_SERVICE_NAME, or service.name of OTEL_RESOURCE_ATTRIBUTES; else the program's name
	 */
	const char *service_name;
	/* http://host:port or https://host:port of an OTLP/HTTP receiver.
	 * OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT; else
	 * http://127.0.0.1:4318 */
	const char *endpoint;
	/* "key=value,key=value" of the process, appended to OTEL_RESOURCE_ATTRIBUTES */
	const char *resource_attributes;
	/* "name=value,name=value"; OTEL_EXPORTER_OTLP_HEADERS */
	const char *headers;
	/* Write to this file instead of sending: %p is the process id, %t the time. With %t one
	 * file per interval, without it one at exit. The format follows from the suffix .pb.gz
	 * (pprof) or .otlp. VESTAL_OUTPUT */
	const char *output;
	/* Samples per second of CPU time of each thread: 1 to 1000; VESTAL_RATE, else 100 */
	uint32_t sample_rate_hz;
	/* Milliseconds between profiles; VESTAL_INTERVAL_MS, else 10000 */
	uint32_t export_interval_ms;
	/* Maximum number of frames per stack, from the leaf: up to 128, the default */
	uint32_t max_stack_depth;
	/* Maximum number of distinct stacks per profile, default 10000; further samples are counted
	 * as lost */
	uint32_t max_samples_per_export;
	/* Maximum bytes of a profile before compression, default 10 MiB; a larger one is not
	 * sent */
	uint32_t max_profile_bytes;
	/* "127.0.0.1:6060": HTTP server for `go tool pprof http://127.0.0.1:6060/debug/pprof/heap`
	 * and the like, and for GET, POST (on) and DELETE (off) of /vestal/profiling. Addresses
	 * that other machines can reach require VESTAL_LISTEN_ANYWHERE=1. VESTAL_LISTEN, else
	 * none */
	const char *listen;
};

#define VESTAL_OPTIONS_DEFAULT                                                 \
	{                                                                      \
		sizeof(struct vestal_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

/*
 * Starts profiling. Returns 0, or -1 with a message in vestal_last_error(). `options` may be NULL.
 */
VESTAL_API int vestal_start(const struct vestal_options *options, struct vestal **ret);
/* Stops profiling, and sends or writes the remaining samples. NULL is allowed. */
VESTAL_API void vestal_stop(struct vestal *v);
/* The error message of the last failed call of this thread, or "". Valid until its next call. */
VESTAL_API const char *vestal_last_error(void);

/* Counters since the start. The first member is the size: set it before the call. */
struct vestal_counts {
	size_t size;
	uint64_t samples;	 /* taken */
	uint64_t lost;		 /* samples dropped for lack of room */
	uint64_t exports;	 /* profiles sent or written */
	uint64_t exports_failed; /* profiles dropped */
};

#define VESTAL_COUNTS_INIT                               \
	{                                                \
		sizeof(struct vestal_counts), 0, 0, 0, 0 \
	}

VESTAL_API void vestal_counts_get(const struct vestal *v, struct vestal_counts *ret);

/*
 * Spans of a trace. From enter to exit, samples of this thread have the span as OTLP link, and its
 * name as label span_name. Spans nest up to 16 levels; deeper ones count for the 16th. `name` may
 * be NULL and is truncated to 47 bytes. With VESTAL_SLOW, VESTAL_SLOW_CPU or VESTAL_KEEP_FAILED,
 * spans that are slow, CPU-intensive or failed keep their samples at a high rate (docs/library.md).
 */
VESTAL_API void vestal_span_enter(const uint8_t trace_id[16], const uint8_t span_id[8],
				  const char *name);
VESTAL_API void vestal_span_exit(int failed);
/* Parses a W3C traceparent ("00-<32 hex>-<16 hex>-<2 hex>"). Returns 0, or -1 if it is invalid. */
VESTAL_API int vestal_traceparent_parse(const char *text, uint8_t trace_id[16], uint8_t span_id[8]);

/*
 * Sets a label of this thread's further samples; value NULL removes it. At most 8 labels per
 * thread, keys of up to 63 bytes, values of up to 255. Returns 0, or -1 with a message in
 * vestal_last_error().
 */
VESTAL_API int vestal_label_set(const char *key, const char *value);

/* The version of the library, "0.1.0". */
VESTAL_API const char *vestal_version(void);

#ifdef __cplusplus
}
#endif

#endif
