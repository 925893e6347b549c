/*
 * Regular expressions over label values, anchored at both ends, matched in time linear in the text
 * for every pattern, because selectors are untrusted. The syntax is RE2's without flags beyond a
 * leading (?i), and without back references and look-around, which are refused with a message.
 * Threads may share a compiled expression.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct linear_regex;

enum err linear_regex_new(struct str source, struct linear_regex **ret,
			  struct fault *fault) MUST_CHECK;
void linear_regex_free(struct linear_regex *r);
/* ERR_TOO_LARGE if the text is longer than the limit of label values. */
enum err linear_regex_match(const struct linear_regex *r, struct str text, bool *ret) MUST_CHECK;
