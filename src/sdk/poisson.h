/*
 * Sampling of things that have a size (an allocation its bytes, a wait its time): every unit has
 * the same small chance, 1 in `interval`, to make its thing a sample. What has S units is seen with
 * p = 1 - exp(-S / interval); a sample stands for 1 / p things and S / p units, so that sums are
 * true on average for every size.
 *
 * No libm, no lock, nothing allocated: it is called inside malloc and behind locks.
 */
#pragma once

#include "unwind/unwind_format.h"

/* What a thing of this size stands for. */
void poisson_weights(u64 size, u64 interval, double *ret_count, double *ret_sum);
/* A distance to the next sample from a number in (0, 1]: exponential with this mean. */
double poisson_distance(double uniform, double mean);
/* A number in (0, 1); `state` is the thread's own. */
double poisson_uniform(u64 *state);
/* A state to begin with, never 0. */
u64 poisson_seed(const void *own);
/* A weight is seldom a whole number: rounded up as often as its fraction says. */
s64 poisson_round(u64 *state, double weight);
