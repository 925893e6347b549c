/*
 * Limits connections and requests per client, so that one client cannot use up all of them. Clients
 * are identified by http_count_for(). A connection counts for the client of its latest request,
 * also while it is idle.
 *
 * Thread safe; shared by all event loops.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct clients;
struct client;

/* At most `most` open connections and `most` running requests per client. */
enum err clients_new(unsigned most, struct clients **ret) MUST_CHECK;
/* No client may have connections or requests left. NULL is allowed. */
void clients_free(struct clients *c);
/*
 * Counts a request for the client `name`, and moves its connection from the client in `*connection`
 * (NULL = none yet) to this one. ERR_BUSY, with a message, if the client is at its limit; then
 * nothing changes.
 */
enum err clients_count(struct clients *c, struct str name, struct client **connection,
		       struct client **ret, struct fault *fault) MUST_CHECK;
/* Call when the connection, or the request, has ended. NULL is allowed. */
void client_drop_connection(struct client *c);
void client_drop_request(struct client *c);
