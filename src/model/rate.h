/*
 * What a value amounts to over a range of time (docs/numbers.md). This is the only place that
 * divides values by time: server, command line and UI show what it gives.
 *
 *	rate      total / covered time: what it used while it was observed
 *	average   total / length of the range
 *	coverage  covered time / length of the range
 *
 * Values keep their unit, so that the rate of nanoseconds of CPU time is in nanoseconds per second:
 * 1e9 are one core. A gauge is not divided: its total is its mean, and so is its rate.
 * NAN stands for what cannot be told: a rate where no time is covered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amount {
	double total;  /* for a gauge the mean; NAN = no data */
	int64_t whole; /* the exact value, if it is a whole number */
	int64_t covered_ns, range_ns;
	bool gauge;
};
/* covered_ns of something that does not tell. */
#define AMOUNT_UNKNOWN INT64_C(-1)

/* Sets the total to an exact value, unless it is NAN (no data). */
void amount_set(struct amount *a, int64_t total);

double amount_rate(const struct amount *a);
double amount_average(const struct amount *a);
double amount_coverage(const struct amount *a);

/* Below this coverage it is shown beside the rate. */
#define COVERAGE_SHOWN 0.95

/* A value of some time per second: points and blocks of a time line. NAN where no time is
 * covered. */
double rate_of(double value, int64_t covered_ns);

/* The comment of a file that a server exported: which range was asked for, and how much of it was
 * covered. */
#define RANGE_COMMENT "vestal: from_ns=%lld until_ns=%lld covered_ns=%lld"

struct jsonout;
/* The members "rate", "average", "covered_ns", "coverage", behind a total that stands already. */
void amount_put_rates(struct jsonout *o, const struct amount *a);
/* Writes the total alone, exactly. */
void amount_put_total(struct jsonout *o, const char *key, const struct amount *a);
/* Writes "total" and the rates. */
void amount_put(struct jsonout *o, const struct amount *a);
