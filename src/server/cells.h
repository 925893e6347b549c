/*
 * Cells of a heat map as a parameter: "UNIXMS:OFFSETMS:LENGTHMS[:WIDTHMS],…". A cell is what was
 * measured from UNIXMS on for WIDTHMS (1000), at OFFSETMS to OFFSETMS + LENGTHMS of a second.
 */
#pragma once

#include "server/parameters.h"

/* The times of all cells, in order, none touching another, in the request's memory. No text gives
 * none. */
enum err cells_read(struct request *r, struct str text, struct time_span **ret, size_t *ret_n,
		    struct fault *fault) MUST_CHECK;
