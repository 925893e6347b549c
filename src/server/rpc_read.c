/*
 * From the body to the message. gRPC's framing, of which a call with one message has one:
 *
 *	flags   1 byte, 1 = compressed as grpc-encoding says
 *	length  4 bytes, big endian
 *	message
 */
#include "server/encoding.h"
#include "server/rpc.h"

#define PREFIX	   5
#define COMPRESSED 1

static enum err unframe(struct str body, bool *ret_compressed, struct str *ret, struct fault *fault)
{
	const uint8_t *p = (const uint8_t *)body.p;
	size_t length;

	if (body.n < PREFIX)
		return fault_set(fault, body.n ? ERR_TRUNCATED : ERR_UNSUPPORTED,
				 body.n ? "the message ends inside its prefix"
					: "a call needs one message, there is none");
	length = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (p[0] & ~COMPRESSED)
		return fault_set(fault, ERR_CORRUPT, "the message has unknown flags");
	if (length > body.n - PREFIX)
		return fault_set(fault, ERR_TRUNCATED, "%zu of %zu bytes of the message are there",
				 body.n - PREFIX, length);
	if (length < body.n - PREFIX)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "a call needs one message, something follows it");
	*ret_compressed = p[0] & COMPRESSED;
	*ret = str_skip(body, PREFIX);
	return ERR_OK;
}

static enum err take_message(struct rpc_call *c, const struct limits *limits, struct fault *fault)
{
	struct str bytes = c->x->body, encoding;
	bool compressed = true;

	if (c->protocol == RPC_CONNECT) {
		encoding = http_find(c->x, STR("content-encoding"));
	} else {
		encoding = http_find(c->x, STR("grpc-encoding"));
		TRY(unframe(c->x->body, &compressed, &bytes, fault));
		if (compressed && (!encoding.n || str_eq(encoding, STR("identity"))))
			return fault_set(
				fault, ERR_CORRUPT,
				"the message is compressed, but no grpc-encoding says how");
	}
	return encoding_undo(compressed ? encoding : STR(""), bytes, limits, &c->plain, &c->message,
			     fault);
}

bool rpc_read(struct rpc_call *c, const struct limits *limits)
{
	struct fault fault = {0};
	enum err e;

	if (rpc_is_late(c)) {
		rpc_fail(c, ERR_TIMEOUT, "the deadline passed before the call was complete", 0);
		return false;
	}
	e = take_message(c, limits, &fault);
	if (e)
		rpc_fail(c, e, fault.text[0] ? fault.text : NULL, 0);
	return !e;
}

void rpc_drop_message(struct rpc_call *c)
{
	buf_release(&c->plain);
	c->message = (struct str){NULL, 0};
}
