/* vestal_last_error() of the calling thread. */
#pragma once

#include "base/err.h"

/* Keeps the reason; returns -1, as the public functions do. */
int last_error_set(const struct fault *f, enum err e);
