/*
 * Rates of values over a range of time (docs/numbers.md). Only this module divides values by time;
 * server, command line and UI show its results.
 *
 *	rate      total / covered time: the rate while it was observed
 *	average   total / length of the range
 *	coverage  covered time / length of the range
 *
 * Values keep their unit, so that the rate of nanoseconds of CPU time is in nanoseconds per second:
 * 1e9 are one core. A gauge is not divided: its total is its mean, and so is its rate. NAN =
 * unknown: a rate without covered time.
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
/* covered_ns if it is unknown. */
#define AMOUNT_UNKNOWN INT64_C(-1)

/* Sets the total to an exact value, unless it is NAN (no data). */
void amount_set(struct amount *a, int64_t total);

double amount_rate(const struct amount *a);
double amount_average(const struct amount *a);
double amount_coverage(const struct amount *a);

/* Below this coverage it is shown next to the rate. */
#define COVERAGE_SHOWN 0.95

/* A value per second of covered time, for points and blocks of a time series. NAN without covered
 * time. */
double rate_of(double value, int64_t covered_ns);

/* The comment in files exported by a server: the requested range and its covered time. */
#define RANGE_COMMENT "vestal: from_ns=%lld until_ns=%lld covered_ns=%lld"

struct jsonout;
/* Writes "rate", "average", "covered_ns", "coverage", after a total that was already written. */
void amount_put_rates(struct jsonout *o, const struct amount *a);
/* Writes only the total, exactly. */
void amount_put_total(struct jsonout *o, const char *key, const struct amount *a);
/* Writes "total" and the rates. */
void amount_put(struct jsonout *o, const struct amount *a);
