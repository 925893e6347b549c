/*
 * Selectors: the series of a query.
 *
 *	checkout                                   the service
 *	checkout{commit="abc123",env=~"prod.*"}    and more about it
 *	{service_name="checkout"}                  the same, as Prometheus writes it
 *	process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout"}    with the type
 *	my-service{commit=abc123}                  quotes may be left out
 *
 * Operators: = != =~ !~. Regular expressions are anchored and take linear time. Values in quotes
 * ("…", '…' or `…`) know the escapes \\ \" \' \n \t \r \uXXXX; names with other characters than
 * letters, digits, '_', '.', '-', '/' and ':' are quoted too. "service.name" is "service_name",
 * and so is Pyroscope's "__service_name__".
 */
#pragma once

#include "store/store.h"

struct selector {
	struct arena arena; /* holds all texts */
	struct str type;    /* five-part id or a short name before the brace; empty = none */
	VEC(struct matcher) matchers;
};

/* On success the caller releases it; on failure there is nothing to release. */
enum err selector_parse(struct str text, struct selector *ret, struct fault *fault) MUST_CHECK;
/* Combines several: all of their conditions must match. None, or empty ones, select everything. */
enum err selector_parse_all(const struct str *texts, size_t n, struct selector *ret,
			    struct fault *fault) MUST_CHECK;
void selector_release(struct selector *s);
/* Adds a condition; strings are copied. */
enum err selector_add(struct selector *s, struct str name, enum match_op op, struct str value,
		      struct fault *fault) MUST_CHECK;
/* As text that parses to the same selector. */
void selector_print(const struct selector *s, struct buf *out);
/* The value required of a label by '=', or an empty slice. */
struct str selector_equal(const struct selector *s, struct str name);
