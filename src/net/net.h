/*
 * The network. Other folders include this header only.
 *
 *	fetch.h        one URL into a buffer
 *	fetch_group.h  many at once
 *	grpc_call.h    one call of gRPC
 *	http.h         the HTTP server
 */
#pragma once

#include "net/fetch.h"
#include "net/fetch_group.h"
#include "net/grpc_call.h"
#include "net/http.h"
