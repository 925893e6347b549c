/*
 * The network. Other folders include this header only.
 *
 *	fetch.h  one URL into a buffer
 *	http.h   the HTTP server
 */
#pragma once

#include "net/fetch.h"
#include "net/http.h"
