/*
 * Calls: header lines, an empty line, the body. Every call gets exactly one reply; an echo that
 * succeeds is itself a call of the same protocol that carries the same message.
 */
#include <stdlib.h>

#include "server/rpc_peer.h"

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* True: the message arrived; `ret` holds it. */
static bool echo(struct rpc_peer *p, struct buf *ret, enum rpc_protocol *ret_protocol)
{
	struct limits limits = LIMITS_DEFAULT;
	struct buf body = BUF_INIT(SIZE_MAX);
	struct rpc_call c;

	limits.max_bytes = 1 << 20;
	if (!rpc_open(&c, &p->x->http) || !rpc_read(&c, &limits))
		return false;
	require(c.message.n <= limits.max_bytes);
	*ret_protocol = c.protocol;
	buf_str(ret, c.message);
	buf_str(&body, c.message);
	rpc_reply(&c, &body);
	return true;
}

static struct str reply_head(const struct rpc_peer *p, struct buf *head)
{
	struct str encoding = rpc_peer_header(p, "content-encoding");
	struct str grpc = rpc_peer_header(p, "grpc-encoding");
	struct str type = rpc_peer_header(p, "content-type");

	buf_printf(head, "content-type: %.*s\n", (int)type.n, type.p);
	if (encoding.n)
		buf_printf(head, "content-encoding: %.*s\n", (int)encoding.n, encoding.p);
	if (grpc.n)
		buf_printf(head, "grpc-encoding: %.*s\n", (int)grpc.n, grpc.p);
	return buf_view(head);
}

/* gRPC-Web's trailers are a frame of 21 bytes that no request has. */
static struct str as_request(const struct rpc_peer *p, enum rpc_protocol protocol)
{
	struct str body = rpc_peer_body(p);

	if (protocol == RPC_GRPC_WEB)
		body.n -= 21;
	return body;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = str_n(data, size);
	size_t end = str_search(input, STR("\n\n"));
	struct buf message = BUF_INIT(SIZE_MAX), again = BUF_INIT(SIZE_MAX), head = BUF_INIT(4096);
	struct rpc_peer first = {0}, second = {0};
	enum rpc_protocol protocol;
	bool arrived;

	require(rpc_peer_init(&first, "POST", "/test.Echo/Echo", str_n(input.p, end),
			      str_skip(input, end + 2)) == ERR_OK);
	arrived = echo(&first, &message, &protocol);
	require(rpc_peer_replied(&first));
	if (arrived && first.x->reply.status == 200) {
		require(rpc_peer_init(&second, "POST", "/test.Echo/Echo", reply_head(&first, &head),
				      as_request(&first, protocol)) == ERR_OK);
		require(echo(&second, &again, &protocol) && rpc_peer_replied(&second));
		require(str_eq(buf_view(&message), buf_view(&again)));
		rpc_peer_release(&second);
	}
	rpc_peer_release(&first);
	buf_release(&message);
	buf_release(&again);
	buf_release(&head);
	return 0;
}
