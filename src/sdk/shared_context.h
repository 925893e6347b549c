/*
 * Context of this process for other profilers: OpenTelemetry's process context (OTEP 4719), a
 * mapping called OTEL_CTX that contains the resource, and thread context (OTEP 4947), a
 * thread-local variable that points to the record of the thread's span.
 *
 *	mapping: 0 "OTEL_CTX", 8 version u32 = 2, 12 size of payload u32, 16 time of publication u64
 *		(0 = being changed), 24 address of payload u64; then the payload, a ProcessContext
 *	record:  0 trace id, 16 span id, 24 valid u8, 25 flags u8, 26 size of attributes u16, then
 *		attributes: key u8 (index into the process context's list), length u8, bytes
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

/* Index of the only thread attribute. */
#define CONTEXT_KEY_SPAN_NAME 0

struct thread_record {
	u8 trace_id[16], span_id[8];
	volatile u8 valid;
	u8 flags;
	u16 size; /* of attributes */
	u8 key, length;
	char text[62];
};

/* Points to the record of the thread's span, or is NULL. Its name is the standard's. */
extern __thread struct thread_record *otel_thread_ctx_v1
	__attribute__((tls_model("initial-exec"), visibility("default")));

/* Publishes it, once; background thread. */
enum err process_context_publish(const struct sdk_settings *s) MUST_CHECK;
/* In the child of fork(), which has no mapping yet. */
void process_context_after_fork(void);
