/*
 * Whether a name in a Host header could be registered by an attacker. With "DNS rebinding" the
 * attacker's name resolves to this machine, so that a browser lets the attacker's page read our
 * responses; the Host header still contains that name.
 */
#pragma once

#include "base/str.h"

/* Of "host:port"; "[::1]" keeps its brackets. */
struct str host_without_port(struct str authority);
/* Digits and dots, or an IPv6 address in brackets, which cannot be registered. Empty: HTTP/1.0. */
bool host_is_address(struct str host);
/* "localhost" and names below it. */
bool host_is_localhost(struct str host);
/* No dot in it ("vestal", "db-1"): a name of the local network, which no public DNS has. */
bool host_is_local_word(struct str host);
/* The name of this machine (gethostname()). */
bool host_is_this_machine(struct str host);
bool host_equal(struct str a, struct str b);
/* What follows "://"; p == NULL when there is none ("null"). */
struct str origin_authority(struct str origin);
