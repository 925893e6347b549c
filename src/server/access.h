/*
 * Access control: tokens, tenants, and the headers of browsers.
 */
#pragma once

#include "server/request.h"

/*
 * Checks host name and origin of a request, on every route: pages of other origins may neither read
 * nor write, even if their name resolves to this server.
 */
enum err access_check_sender(const struct request *r, struct fault *fault) MUST_CHECK;
/* Sets tenant, rights and token id of the request, whose route is known. */
enum err access_check(struct request *r, struct fault *fault) MUST_CHECK;
/* Whether the request may access all tenants: there are no tokens, or it has the right "admin" of
 * the default tenant. */
bool access_is_operator(const struct request *r);
/* Whether the request may see metrics of the whole server and of all tenants: an administrator of
 * all tenants, or a token with the right "operator", which grants nothing else. */
bool access_sees_server(const struct request *r);
