/*
 * multipart/form-data: the parts of a body in memory, in order, without copies.
 *
 *	struct multipart m;
 *	TRY(multipart_init(&m, content_type, body, fault));
 *	while (multipart_next(&m, &part))
 *		…
 *	if (m.failed) → the body is not what its Content-Type says
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define MULTIPART_MAX_PARTS    64
#define MULTIPART_MAX_HEADERS  8192 /* limit of a part's header bytes */
#define MULTIPART_MAX_BOUNDARY 200  /* RFC 2046 allows 70 */

struct multipart {
	struct str rest;
	struct str mark; /* "\r\n--boundary" */
	unsigned parts;
	bool failed;
	char text[MULTIPART_MAX_BOUNDARY + 5];
};

struct multipart_part {
	struct str name, filename, body;
};

/* Whether it is a form. */
bool multipart_is(struct str content_type);
enum err multipart_init(struct multipart *m, struct str content_type, struct str body,
			struct fault *fault) MUST_CHECK;
/* The next part; false at the end, or if the body is malformed. */
bool multipart_next(struct multipart *m, struct multipart_part *ret);
