/*
 * The signal that toggles sampling, if one is configured.
 */
#pragma once

#include "base/err.h"

/* Installs the handler; fails if the program has one. */
enum err switch_signal_begin(int number, struct fault *fault) MUST_CHECK;
/* Applies the signals received since the last call. */
void switch_signal_turn(void);
