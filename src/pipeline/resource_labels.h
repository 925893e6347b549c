/*
 * Attributes of a resource and a scope as labels of a series.
 */
#pragma once

#include "base/arena.h"
#include "pipeline/series_labels.h"

/*
 * Adds strings, integers and booleans (or a list of one of these), the resource's first; strings
 * are copied to the arena. service_name is service.name, else
 * "unknown_service:<process.executable.name>" or "unknown_service", unless there is one.
 */
enum err resource_labels_add(struct series_labels *labels, const struct profile *p,
			     struct arena *arena, struct fault *fault) MUST_CHECK;
