/*
 * Whose connections and requests are counted together, as http_count_for() says: so that one client
 * cannot have all of them. A connection is its latest request's client's, also while it is idle.
 *
 * Thread safe; loops share it.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct clients;
struct client;

/* `most` connections, and as many requests under way, of each. */
enum err clients_new(unsigned most, struct clients **ret) MUST_CHECK;
/* None of them may have anything. NULL is fine. */
void clients_free(struct clients *c);
/*
 * A request of that client. Its connection, whose client is in `*connection` (NULL = nobody's yet),
 * is that client's from now on. ERR_BUSY, with a sentence, when there are too many; then nothing
 * has changed.
 */
enum err clients_count(struct clients *c, struct str name, struct client **connection,
		       struct client **ret, struct fault *fault) MUST_CHECK;
/* The connection has ended; the request has. NULL is fine. */
void client_drop_connection(struct client *c);
void client_drop_request(struct client *c);
