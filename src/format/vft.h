/*
 * VFT, the tree a flame graph is drawn from: docs/formats/vft.md says what the bytes mean.
 * Private to src/format.
 */
#pragma once

#include "format/format.h"

/* The columns of a picture: one per sample type, in a diff two (baseline, comparison). */
#define PICTURE_MAX_COLUMNS (2 * PROFILE_MAX_TYPES)

struct picture {
	struct tree_column columns[PICTURE_MAX_COLUMNS];
	uint32_t column_count;
	struct tree tree;
	struct top top;
};

/* picture.c. Builds tree and table for what is to be drawn; `max_nodes` 0 = no ceiling. */
enum err picture_build(const struct writing *in, uint32_t max_nodes,
		       struct picture *ret) MUST_CHECK;
void picture_release(struct picture *p);
/* The column a reader sees first; in a diff that of the comparison. */
uint32_t picture_shown_column(const struct writing *in, const struct picture *p);

/* The share below which a box is left out when nobody says. */
#define PICTURE_MIN_SHARE 0.00002

/* Text for HTML and SVG: escaped, invalid UTF-8 and control characters replaced. */
void put_xml_text(struct buf *out, struct str text);
