/* vestal_last_error() of the calling thread. */
#pragma once

#include "base/err.h"

/* Stores the message; returns -1, for public functions. */
int last_error_set(const struct fault *f, enum err e);
