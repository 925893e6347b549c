/*
 * Remote procedure calls as routes: the framing is rpc.h's, the messages are read and written by
 * their tables (wire.h).
 */
#pragma once

#include "server/wire.h"
#include "server/request.h"
#include "server/rpc.h"

struct rpc_method {
	const struct message *request, *reply;
	/* Fills `out` (cleared, of the reply's size; texts may live in the exchange's arena or in
	 * `scope`, which is released after the reply was written). */
	enum err (*call)(struct request *r, const void *in, void *out, struct arena *scope,
			 struct fault *fault);
};

/* Handler of every route whose data is a struct rpc_method. */
void rpc_route_handle(struct request *r);
void rpc_route_fail(struct request *r, enum err error, const char *text);
/* The opened call of this request with its message read; NULL: it has replied, and the request must
 * not be looked at any more. */
struct rpc_call *rpc_route_read(struct request *r);

/* A row for a route. */
#define RPC_ROUTE(path_, flags_, method_)                                             \
	{                                                                             \
		"POST", path_, (flags_) | ROUTE_RPC, path_, rpc_route_handle, method_ \
	}
