/*
 * A signal that switches sampling on and off, if the user has named one.
 */
#pragma once

#include "base/err.h"

/* Takes the signal; fails when somebody else has it. */
enum err switch_signal_begin(int number, struct fault *fault) MUST_CHECK;
/* Does what signals since the last call have asked for. */
void switch_signal_turn(void);
