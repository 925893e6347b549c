/*
 * Who asks, for whose data, and whether that is allowed: tokens, tenants, and what browsers send.
 */
#pragma once

#include "server/request.h"

/* Fills tenant, rights and token id of the request; its route is known. */
enum err access_check(struct request *r, struct fault *fault) MUST_CHECK;
/* Whether the request may see and do what is of all tenants: there are no tokens, or it has the
 * right "admin" of the default tenant. */
bool access_is_operator(const struct request *r);
