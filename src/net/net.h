/*
 * The network. Other folders include this header only.
 *
 *	fetch.h        one URL into a buffer
 *	fetch_group.h  many at once
 *	http.h         the HTTP server
 */
#pragma once

#include "net/fetch.h"
#include "net/fetch_group.h"
#include "net/http.h"
