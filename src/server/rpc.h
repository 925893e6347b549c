/*
 * Unary RPCs over HTTP: gRPC, gRPC-Web (binary) and Connect (protobuf and JSON), distinguished by
 * content type. This is only the framing; messages are not interpreted here.
 *
 *	struct rpc_call c;
 *
 *	if (!rpc_open(&c, x) || !rpc_read(&c, &limits))
 *		return;			   it has replied
 *	… c.service, c.method, c.message …
 *	rpc_reply(&c, &body);	 or  rpc_fail(&c, ERR_NOT_FOUND, "no such profile", 0);
 *
 * The caller stores the call, for example in the exchange's arena. rpc_reply and rpc_fail may be
 * called from any thread, one of them exactly once; after it call, exchange and message are
 * invalid.
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
	struct str prefix;   /* path prefix before "/service"; usually empty */
	int64_t deadline_ns; /* monotonic; INT64_MAX: no deadline */
	struct str message;  /* plain */
	struct buf plain;    /* owns the message if it was compressed */
	/* An additional header for browsers on every reply, if it has a name. */
	struct http_header extra;
};

/* Whether rpc_open() supports the content type, so that a route can also serve others. */
bool rpc_is_call(const struct http_exchange *x);
/*
 * Parses only the headers, so that `admit` can refuse a call in its protocol. False: it has replied
 * (405, 415, an invalid timeout or version).
 */
bool rpc_open(struct rpc_call *c, struct http_exchange *x);
/* Extracts the message from the body, decompressed up to `limits`. False: it has replied. */
bool rpc_read(struct rpc_call *c, const struct limits *limits);
/* Frees a decompressed message, for calls that wait long before replying. */
void rpc_drop_message(struct rpc_call *c);
/* Whether the client has disconnected, or its deadline has passed. */
bool rpc_is_late(const struct rpc_call *c);

/* Takes over `message`, protobuf or JSON according to `json`, and leaves it empty. */
void rpc_reply(struct rpc_call *c, struct buf *message);
/*
 * `text` NULL: that of the code. For errors with retry (err_retry) the reply has a delay:
 * `retry_ns`, or a second if that is 0.
 */
void rpc_fail(struct rpc_call *c, enum err code, const char *text, int64_t retry_ns);
/* No such service or method. */
void rpc_unknown(struct rpc_call *c);

/* "invalid_argument", and its HTTP status in Connect. */
const char *rpc_code_name(int grpc_status);
int rpc_code_http(int grpc_status);
