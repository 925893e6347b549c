/*
 * Firefox Profiler JSON (Firefox, samply): read through the row of .cpuprofile.
 */
#pragma once

#include "format/format.h"

enum err firefox_read(struct str bytes, struct reading *out);
