/*
 * Parsing of queries, and formats of responses. Other folders include only this header.
 *
 *	selector.h    text to matchers: checkout{commit="abc123"}
 *	when.h        text to times: -1h, now, 2026-11-15T10:00:00Z, milliseconds
 *	flamebearer.h a tree as levels of boxes, for Pyroscope's clients
 */
#pragma once

#include "query/flamebearer.h"
#include "query/selector.h"
#include "query/when.h"
