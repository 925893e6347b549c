/* Stacks that were cut or could not be walked, where the data says so by a frame in their place. */
#pragma once

#include "format/format.h"

/* Adds a note with their share of the first type, if there are any. */
enum err broken_stacks_note(const struct profile *p, struct notes *notes) MUST_CHECK;
