/*
 * Cells of a heat map as a parameter: "UNIXMS:OFFSETMS:LENGTHMS[:WIDTHMS],…". A cell contains the
 * samples from UNIXMS on for WIDTHMS (1000), from OFFSETMS to OFFSETMS + LENGTHMS of each second.
 */
#pragma once

#include "server/parameters.h"

/* The times of all cells, sorted and disjoint, in the request's memory; none for an empty text. */
enum err cells_read(struct request *r, struct str text, struct time_span **ret, size_t *ret_n,
		    struct fault *fault) MUST_CHECK;
