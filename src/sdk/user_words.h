/*
 * The user's settings, from the environment, else from the file named by VESTAL_CONFIG. Its
 * `profiling:` block has the form of other profilers; every key corresponds to a variable, and
 * callers only use variables.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* NULL if not set or empty. */
const char *word(const char *variable);
/* Reads the file, if there is one. The fault has the line. */
enum err words_load(struct fault *fault) MUST_CHECK;
/* The same from bytes. */
enum err words_read(struct str text, struct fault *fault) MUST_CHECK;
void words_forget(void);
