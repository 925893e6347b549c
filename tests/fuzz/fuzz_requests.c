/*
 * Whole requests to a server over a store in memory, without sockets: "METHOD target", header
 * lines, an empty line, the body. Each gets exactly one reply, and gives back what it reserved.
 */
#include <stdlib.h>

#include "server/server_peer.h"

/* Uploads pile up, deletes empty: every so often it begins anew. */
#define REQUESTS_A_SERVER 300

static struct server server;
static unsigned asked;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void begin_anew(void)
{
	if (asked)
		peer_close(&server);
	require(peer_open(&server) == ERR_OK);
	server.options.trust_tenant_header = true;
	server.options.max_inflated = (size_t)4 << 20;
	server.options.query_memory = (size_t)32 << 20;
	require(peer_upload(&server, "") == 200);
}

static void ask(struct str method, struct str target, struct str head, struct str body)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
	char *method_text = mem_strndup(method.p, method.n);
	char *target_text = mem_strndup(target.p, target.n);
	char *head_text = mem_strndup(head.p, head.n);

	require(method_text && target_text && head_text);
	require(peer_ask(&server, &p, method_text, target_text, head_text, body) == ERR_OK);
	require(p.x->reply.status >= 200 && p.x->reply.status < 600);
	require(!rpc_peer_replied(&p));
	mem_free(method_text);
	mem_free(target_text);
	mem_free(head_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = str_n(data, size), line, method;
	size_t end = str_search(input, STR("\n\n"));
	struct str head = str_n(input.p, end), body = str_skip(input, end + 2);

	if (asked++ % REQUESTS_A_SERVER == 0) {
		asked--;
		begin_anew();
		asked++;
	}
	if (!str_split(&head, '\n', &line))
		return 0;
	if (!str_split(&line, ' ', &method))
		method = STR("");
	ask(method, line, head, body);
	return 0;
}
