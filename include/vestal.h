/*
 * libvestal: a profile of this very process, sent to a server or written to files.
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
 * Threads are found by themselves, those that were there before and those that come later. Samples
 * are taken in a signal handler that allocates nothing and takes no lock, on a real-time signal
 * that nobody else uses; names, encoding and sending are the work of one thread in the background.
 * At exit() what was sampled is sent, for at most a second.
 *
 * A process has one profile of itself: a second vestal_start() fails until vestal_stop(). A child
 * of fork() is not profiled until it calls vestal_start() itself; vestal_stop() of its parent's
 * handle does nothing there.
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
 * What to do. Begins with its size, so that later versions may add members: start from
 * VESTAL_OPTIONS_DEFAULT. NULL and 0 mean what the environment says, else the default.
 * The strings may go when vestal_start() has returned.
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
	/* "key=value,key=value" of the process; OTEL_RESOURCE_ATTRIBUTES comes before it */
	const char *resource_attributes;
	/* "name=value,name=value"; OTEL_EXPORTER_OTLP_HEADERS */
	const char *headers;
	/* A file instead of sending: %p is the process's number, %t the time. With %t a file for
	 * each interval, without it one at the end. By its name .pb.gz (pprof) or .otlp.
	 * VESTAL_OUTPUT */
	const char *output;
	/* Samples a second of CPU time, of each thread: 1 to 1000; VESTAL_RATE, else 100 */
	uint32_t sample_rate_hz;
	/* Milliseconds from one profile to the next; VESTAL_INTERVAL_MS, else 10000 */
	uint32_t export_interval_ms;
	/* Frames kept of a stack, from the leaf: up to 128, which is the default */
	uint32_t max_stack_depth;
	/* Different stacks of one profile, else 10000: what is above is counted as lost */
	uint32_t max_samples_per_export;
	/* Bytes of one profile before compression, else 10 MiB: a larger one is not sent */
	uint32_t max_profile_bytes;
	/* "127.0.0.1:6060": answers there to `go tool pprof http://127.0.0.1:6060/debug/pprof/heap`
	 * and the like, and to GET, POST (on) and DELETE (off) of /vestal/profiling. Not reachable
	 * for other machines unless VESTAL_LISTEN_ANYWHERE=1. VESTAL_LISTEN, else nowhere */
	const char *listen;
};

#define VESTAL_OPTIONS_DEFAULT                                                 \
	{                                                                      \
		sizeof(struct vestal_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

/*
 * Begins to profile. 0, or -1 and vestal_last_error() says why. `options` may be NULL.
 */
VESTAL_API int vestal_start(const struct vestal_options *options, struct vestal **ret);
/* Ends it, and sends or writes what there is. NULL is fine. */
VESTAL_API void vestal_stop(struct vestal *v);
/* Why the last call of this thread failed; "" when none did. Valid until its next call. */
VESTAL_API const char *vestal_last_error(void);

/* What happened so far. Begins with its size: set it before the call. */
struct vestal_counts {
	size_t size;
	uint64_t samples;	 /* taken */
	uint64_t lost;		 /* not taken or not kept: no room */
	uint64_t exports;	 /* profiles that a server or a file took */
	uint64_t exports_failed; /* profiles that were given up */
};

#define VESTAL_COUNTS_INIT                               \
	{                                                \
		sizeof(struct vestal_counts), 0, 0, 0, 0 \
	}

VESTAL_API void vestal_counts_get(const struct vestal *v, struct vestal_counts *ret);

/*
 * Spans of a trace. From enter to exit samples of this thread carry the span: OTLP links, and the
 * name as label span_name. Spans nest, 16 deep; deeper ones are those of the 16th. `name` may be
 * NULL and is cut at 47 bytes. With VESTAL_SLOW, VESTAL_SLOW_CPU or VESTAL_KEEP_FAILED spans that
 * were slow, busy or failed keep their samples at a high rate (docs/library.md).
 */
VESTAL_API void vestal_span_enter(const uint8_t trace_id[16], const uint8_t span_id[8],
				  const char *name);
VESTAL_API void vestal_span_exit(int failed);
/* Reads a W3C traceparent ("00-<32 hex>-<16 hex>-<2 hex>"). 0, or -1 when it is none. */
VESTAL_API int vestal_traceparent_parse(const char *text, uint8_t trace_id[16], uint8_t span_id[8]);

/*
 * A label of this thread's samples from now on; NULL as value takes it away. A thread has up to 8,
 * keys of up to 63 bytes, values of up to 255. 0, or -1 and vestal_last_error() says why.
 */
VESTAL_API int vestal_label_set(const char *key, const char *value);

/* The version of the library, "0.1.0". */
VESTAL_API const char *vestal_version(void);

#ifdef __cplusplus
}
#endif

#endif
