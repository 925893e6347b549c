/* Shared by both parts of the pattern parser: structure (regex_parse.c), characters and sets of
 * characters (regex_set.c). */
#pragma once

#include "model/regex_internal.h"

struct regex_parser {
	struct str source;
	size_t at;
	struct arena *arena;
	struct fault *fault;
	bool ignore_case;
	int nesting;
};

enum err regex_fail(struct regex_parser *p, const char *what);
struct regex_node *regex_node_new(struct regex_parser *p, int kind);
/* One character or escape; one set in brackets. */
enum err regex_parse_single(struct regex_parser *p, struct regex_node **ret) MUST_CHECK;
enum err regex_parse_set(struct regex_parser *p, struct regex_node **ret) MUST_CHECK;
