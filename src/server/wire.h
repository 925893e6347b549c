/*
 * RPC messages by table: one description of a message's fields decodes and encodes it as protobuf
 * and as JSON (protobuf's own mapping: lowerCamelCase names, 64-bit integers as strings, bytes in
 * base64, defaults left out).
 *
 * In memory a message is a plain struct. A field is, by kind: struct str (text, bytes), int64_t
 * (integers of any wire width, enums), double, bool, or a pointer to the nested struct (NULL =
 * missing). A ready field is a nested message that is already encoded, in the same format, in a
 * struct str; it is only written. A repeated field is a `struct list`: `v` points to n elements
 * (for messages: to n structs, not pointers). Decoded data is in the arena or points into the
 * input.
 */
#pragma once

#include "base/arena.h"
#include "format/format.h"

struct list {
	void *v;
	size_t n;
};

enum field_kind {
	FIELD_TEXT,
	FIELD_BYTES,
	FIELD_INT,
	FIELD_INT32, /* in JSON a number, while FIELD_INT is a string */
	FIELD_ENUM,
	FIELD_DOUBLE,
	FIELD_BOOL,
	FIELD_MESSAGE,
	FIELD_READY
};

struct message;

struct field {
	uint32_t number;
	const char *name; /* in JSON */
	enum field_kind kind;
	bool repeated;
	size_t at;		       /* in the struct */
	const struct message *message; /* FIELD_MESSAGE */
	const char *const *
		names; /* FIELD_ENUM: names by number, ends with NULL; integers are accepted, too */
};

struct message {
	const char *name;	    /* for faults */
	const struct field *fields; /* ends with number 0 */
	size_t size;		    /* of the struct */
};

/* `ret` has the size of the message and is cleared first. */
enum err message_read(const struct message *m, struct str bytes, bool json, struct arena *arena,
		      void *ret, struct fault *fault) MUST_CHECK;
/* Errors are stored in the buffer. */
void message_write(const struct message *m, const void *value, bool json, struct buf *out);
