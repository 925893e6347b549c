/*
 * The network. Other folders include this header only.
 *
 *	debuginfod.h   debug files and sources by build id
 *	fetch.h        one URL into a buffer
 *	fetch_group.h  many at once
 *	grpc_call.h    one call of gRPC
 *	http.h         the HTTP server
 *	plain_post.h   one POST without libcurl
 */
#pragma once

#include "net/debuginfod.h"
#include "net/fetch.h"
#include "net/fetch_group.h"
#include "net/grpc_call.h"
#include "net/http.h"
#include "net/plain_post.h"
