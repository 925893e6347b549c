/*
 * The page behind HTML output, built from web/ and kept inside the program. The size is 0 when it
 * was built on a machine without npm.
 */
#pragma once

#include <stddef.h>

extern const unsigned char flame_html[];
extern const size_t flame_html_size;
