/*
 * Words of the user: the environment's, else those of the file that VESTAL_CONFIG names. Its
 * `profiling:` block is read as it is written for other profilers; every key there has a variable
 * that it stands for, and everything behind this header knows variables alone.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* NULL when nobody says it, or nothing. */
const char *word(const char *variable);
/* Reads the file, if there is one. Says which line is wrong. */
enum err words_load(struct fault *fault) MUST_CHECK;
/* The same from bytes. */
enum err words_read(struct str text, struct fault *fault) MUST_CHECK;
void words_forget(void);
