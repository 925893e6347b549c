/* Private to completeness*.c: the words of the kinds. */
#pragma once

#include "model/completeness.h"

struct str completeness_kind_word(enum completeness_kind kind);
/* "lost: ring full" is PART_LOST and "ring full"; false when it is none. */
bool completeness_kind_parse(struct str text, enum completeness_kind *ret, struct str *ret_cause);
bool completeness_kind_has_cause(enum completeness_kind kind);
