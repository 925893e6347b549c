/*
 * Remote procedure calls over HTTP, one message each way: gRPC, gRPC-Web (binary) and Connect
 * (protobuf and JSON), told apart by their content type. A call is the framing alone: what its
 * messages mean is their reader's.
 *
 *	struct rpc_call c;
 *
 *	if (!rpc_open(&c, x) || !rpc_read(&c, &limits))
 *		return;			   it has replied
 *	… c.service, c.method, c.message …
 *	rpc_reply(&c, &body);	 or  rpc_fail(&c, ERR_NOT_FOUND, "no such profile", 0);
 *
 * The caller holds the call as long as it works on it, in the exchange's arena for example.
 * rpc_reply and rpc_fail may be called from any thread, one of them exactly once; after it neither
 * call nor exchange nor message are there any more.
 */
#pragma once

#include "format/format.h"
#include "net/net.h"

enum rpc_protocol { RPC_GRPC, RPC_GRPC_WEB, RPC_CONNECT };

struct rpc_call {
	struct http_exchange *x;
	enum rpc_protocol protocol;
	bool json;	     /* messages are JSON, both ways */
	struct str service;  /* "querier.v1.QuerierService" */
	struct str method;   /* "Series" */
	struct str prefix;   /* of the path, before the slash before the service; mostly empty */
	int64_t deadline_ns; /* monotonic; INT64_MAX: the client waits as long as it takes */
	struct str message;  /* plain */
	struct buf plain;    /* owns the message when it came compressed */
	/* Put on every reply when it has a name: what a browser is to be told. */
	struct http_header extra;
};

/* True for a content type that rpc_open() takes, so that a route can serve others as well. */
bool rpc_is_call(const struct http_exchange *x);
/*
 * Looks at the head only, so that `admit` can refuse a call in the words of its protocol. False: it
 * has replied (405, 415, a timeout or a version that makes no sense).
 */
bool rpc_open(struct rpc_call *c, struct http_exchange *x);
/* Takes the message out of the body, decompressed up to `limits`. False: it has replied. */
bool rpc_read(struct rpc_call *c, const struct limits *limits);
/* Frees a message that was decompressed, for those who wait long before they reply. */
void rpc_drop_message(struct rpc_call *c);
/* The client no longer waits: it is gone, or its deadline has passed. */
bool rpc_is_late(const struct rpc_call *c);

/* Takes `message`, protobuf or JSON as `json` says, and leaves it empty. */
void rpc_reply(struct rpc_call *c, struct buf *message);
/*
 * `text` NULL: that of the code. A client that may try again (err_retry) is told when: after
 * `retry_ns`, or a second when that is 0.
 */
void rpc_fail(struct rpc_call *c, enum err code, const char *text, int64_t retry_ns);
/* No such service or method. */
void rpc_unknown(struct rpc_call *c);

/* "invalid_argument", and the HTTP status Connect gives it. */
const char *rpc_code_name(int grpc_status);
int rpc_code_http(int grpc_status);
