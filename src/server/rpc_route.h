/*
 * RPCs as routes: rpc.h does the framing, tables (wire.h) encode and decode the messages.
 */
#pragma once

#include "server/wire.h"
#include "server/request.h"
#include "server/rpc.h"

struct rpc_method {
	const struct message *request, *reply;
	/* Fills `out` (cleared, of the reply's size; strings may be in the exchange's arena or in
	 * `scope`, which is released after the reply was encoded). */
	enum err (*call)(struct request *r, const void *in, void *out, struct arena *scope,
			 struct fault *fault);
};

/* Handler of all routes whose data is a struct rpc_method. */
void rpc_route_handle(struct request *r);
void rpc_route_fail(struct request *r, enum err error, const char *text);
/* Opens the call of this request and reads its message; NULL: it has replied, and the request must
 * not be used. */
struct rpc_call *rpc_route_read(struct request *r);

/* A row for a route. */
#define RPC_ROUTE(path_, flags_, method_)                                             \
	{                                                                             \
		"POST", path_, (flags_) | ROUTE_RPC, path_, rpc_route_handle, method_ \
	}
