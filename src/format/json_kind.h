/*
 * Which of the JSON formats a text is: by its top-level keys, whatever their order, looking at
 * the first and the last 64 KiB only.
 */
#pragma once

#include "base/str.h"

enum json_kind {
	JSON_KIND_NONE,
	JSON_KIND_SPEEDSCOPE,
	JSON_KIND_CPUPROFILE, /* V8 */
	JSON_KIND_FIREFOX,
	JSON_KIND_HEAPPROFILE,
	JSON_KIND_OTLP,
	JSON_KIND_COUNT_
};

enum json_kind json_kind(struct str text);
