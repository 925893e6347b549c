/*
 * Private to linear_regex: a pattern becomes a tree of nodes (regex_parse.c), the tree a program
 * for a set of states (regex_program.c), and the program is run over a text with all states at once
 * (linear_regex.c), so that the time is text × program and never more.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "model/linear_regex.h"

#define REGEX_MAX_SOURCE  4096
#define REGEX_MAX_NESTING 100
#define REGEX_MAX_REPEAT  1000
#define REGEX_MAX_PROGRAM 4096
#define REGEX_MAX_RANGES  16384 /* limit of instructions, each of which may run per character */

struct regex_range {
	uint32_t low, high; /* code points, both included */
};

enum regex_assertion { AT_BEGIN, AT_END, AT_WORD_EDGE, AT_NO_WORD_EDGE };

struct regex_node {
	enum {
		NODE_EMPTY,
		NODE_RANGES, /* one character out of `ranges`, or not out of them */
		NODE_ASSERT,
		NODE_CONCAT, /* left, then right */
		NODE_EITHER, /* left or right; both children of lists that lean to the left */
		NODE_REPEAT, /* left, min … max times; max -1 = no end */
	} kind;
	struct regex_node *left, *right;
	const struct regex_range *ranges;
	uint32_t range_count;
	bool negated;
	enum regex_assertion assertion;
	int min, max;
};

enum err regex_parse(struct str source, struct arena *arena, struct regex_node **ret,
		     struct fault *fault) MUST_CHECK;

struct regex_instruction {
	enum { RUN_RANGES, RUN_SPLIT, RUN_JUMP, RUN_ASSERT, RUN_MATCH } op;
	uint32_t next, other; /* next instruction; `other` for RUN_SPLIT */
	const struct regex_range *ranges;
	uint32_t range_count;
	bool negated;
	enum regex_assertion assertion;
};

struct regex_program {
	VEC(struct regex_instruction) code;
	uint32_t ranges; /* of all instructions */
};

enum err regex_compile(const struct regex_node *root, struct regex_program *ret,
		       struct fault *fault) MUST_CHECK;

/* The next code point; a byte that is not UTF-8 is U+FFFD and one byte long. */
uint32_t regex_decode(struct str text, size_t at, size_t *ret_length);
