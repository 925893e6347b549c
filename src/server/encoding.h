/*
 * Content encodings of bodies and messages: undone with a ceiling, chosen for replies.
 */
#pragma once

#include "format/format.h"

/* What undoing can: for Accept-Encoding, grpc-accept-encoding and error texts. */
#define ENCODING_KNOWN "gzip,zstd"

/*
 * Undoes one encoding ("", "identity", "gzip", "x-gzip", "zstd"; of several in a row only one layer
 * each is known, so "gzip, gzip" is refused). `*ret` is the plain bytes: those given, or what
 * `plain` then owns. Nothing at all is nothing, whatever its encoding.
 */
enum err encoding_undo(struct str encoding, struct str bytes, const struct limits *limits,
		       struct buf *plain, struct str *ret, struct fault *fault) MUST_CHECK;
/* Whether an Accept-Encoding list ("gzip;q=0.5, *") allows an encoding. Absent: it does not. */
bool encoding_accepted(struct str list, struct str encoding);
/* Compresses `body` in place when the peer takes gzip and it is worth it; true: it was done. */
bool encoding_gzip(struct str accepted, struct buf *body);
