/*
 * Content encodings: decompression with a ceiling, and compression of replies.
 */
#pragma once

#include "format/format.h"

/* Supported encodings, for Accept-Encoding, grpc-accept-encoding and messages. */
#define ENCODING_KNOWN "gzip,zstd"

/*
 * Removes one encoding ("", "identity", "gzip", "x-gzip", "zstd"; multiple encodings such as "gzip,
 * gzip" are refused). `*ret` is the plain bytes: the given ones, or those owned by `plain`. Empty
 * input is empty in every encoding.
 */
enum err encoding_undo(struct str encoding, struct str bytes, const struct limits *limits,
		       struct buf *plain, struct str *ret, struct fault *fault) MUST_CHECK;
/* Whether an Accept-Encoding list ("gzip;q=0.5, *") allows an encoding. A missing list does not. */
bool encoding_accepted(struct str list, struct str encoding);
/* Compresses `body` in place if the peer accepts gzip and it is worthwhile; returns whether it
 * did. */
bool encoding_gzip(struct str accepted, struct buf *body);
