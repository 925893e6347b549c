/*
 * Who asks, for whose data, and whether that is allowed: tokens, tenants, and what browsers send.
 */
#pragma once

#include "server/request.h"

/*
 * The name this server was asked under and the page that asks, which holds for every route: a page
 * of a stranger may neither read nor send, whatever name it makes point here.
 */
enum err access_check_sender(const struct request *r, struct fault *fault) MUST_CHECK;
/* Fills tenant, rights and token id of the request; its route is known. */
enum err access_check(struct request *r, struct fault *fault) MUST_CHECK;
/* Whether the request may see and do what is of all tenants: there are no tokens, or it has the
 * right "admin" of the default tenant. */
bool access_is_operator(const struct request *r);
/* Whether the request may see numbers of the whole server, and of all tenants: an operator, or a
 * token with the right "operator", which opens nothing else. */
bool access_sees_server(const struct request *r);
