/* Parts of wire.h's codec: wire.c (protobuf, common), wire_json.c. */
#pragma once

#include "server/wire.h"

#define MESSAGE_MAX_NESTING 16
#define MESSAGE_MAX_ITEMS   1000000

size_t field_size(const struct field *f);
/* Appends an item to a repeated field: ERR_TOO_LARGE above MESSAGE_MAX_ITEMS, ERR_NO_MEMORY. */
enum err list_push(struct list *l, size_t size, struct arena *arena, void **ret) MUST_CHECK;
enum err message_read_json(const struct message *m, struct str text, struct arena *arena, void *ret,
			   struct fault *fault) MUST_CHECK;
void message_write_json(const struct message *m, const void *value, struct buf *out);
/* Whether a field that is not repeated has its default value. */
bool field_is_default(const struct field *f, const void *at);
