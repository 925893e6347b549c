/*
 * Short macros for message tables (wire.h): a field, a repeated one, a message, repeated messages,
 * an enum. Include it only in files with such tables.
 */
#pragma once

#include "server/wire.h"

/* One row: number, name in JSON, kind, member. */
#define F(struct_, number_, name_, kind_, member_)                                     \
	{                                                                              \
		number_, name_, FIELD_##kind_, .at = offsetof(struct struct_, member_) \
	}
#define R(struct_, number_, name_, kind_, member_)                                     \
	{                                                                              \
		number_, name_, FIELD_##kind_, .repeated = true,                       \
					       .at = offsetof(struct struct_, member_) \
	}
#define M(struct_, number_, name_, member_, table_)                                     \
	{                                                                               \
		number_, name_, FIELD_MESSAGE, .at = offsetof(struct struct_, member_), \
					       .message = &(table_)                     \
	}
#define RM(struct_, number_, name_, member_, table_)                                    \
	{                                                                               \
		number_, name_, FIELD_MESSAGE, .repeated = true,                        \
					       .at = offsetof(struct struct_, member_), \
					       .message = &(table_)                     \
	}
#define TABLE_OF(struct_, name_, ...)                                                   \
	{                                                                               \
		name_, (const struct field[]){__VA_ARGS__, {0}}, sizeof(struct struct_) \
	}
#define E(struct_, number_, name_, member_, names_)                                  \
	{                                                                            \
		number_, name_, FIELD_ENUM, .at = offsetof(struct struct_, member_), \
					    .names = names_                          \
	}
