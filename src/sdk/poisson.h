/*
 * Poisson sampling of events with a size (bytes of an allocation, length of a wait): every unit has
 * the same small probability, 1 / `interval`, of making its event a sample. An event of size S is
 * sampled with p = 1 - exp(-S / interval) and counts for 1 / p events and S / p units, so that sums
 * are unbiased for every size.
 *
 * No libm, locks or allocations, because it is called inside malloc and lock functions.
 */
#pragma once

#include "unwind/unwind_format.h"

/* The weight of an event of this size. */
void poisson_weights(u64 size, u64 interval, double *ret_count, double *ret_sum);
/* The distance to the next sample, exponential with this mean, from a number in (0, 1]. */
double poisson_distance(double uniform, double mean);
/* A number in (0, 1); `state` is the thread's own. */
double poisson_uniform(u64 *state);
/* An initial state, never 0. */
u64 poisson_seed(const void *own);
/* Rounds a weight up or down at random, with the probability of its fraction. */
s64 poisson_round(u64 *state, double weight);
