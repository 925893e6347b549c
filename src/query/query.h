/*
 * Questions as people and programs put them, and answers in the shapes they want. Other folders
 * include this header only.
 *
 *	selector.h    text to matchers: checkout{commit="abc123"}
 *	when.h        text to times: -1h, now, 2026-11-15T10:00:00Z, milliseconds
 *	flamebearer.h a tree as levels of boxes, the shape Pyroscope's clients draw
 */
#pragma once

#include "query/flamebearer.h"
#include "query/selector.h"
#include "query/when.h"
