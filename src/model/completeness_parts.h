/* Private to completeness*.c: the names of the kinds. */
#pragma once

#include "model/completeness.h"

struct str completeness_kind_word(enum completeness_kind kind);
/* Splits "lost: ring full" into PART_LOST and "ring full"; false if it has no known kind. */
bool completeness_kind_parse(struct str text, enum completeness_kind *ret, struct str *ret_cause);
bool completeness_kind_has_cause(enum completeness_kind kind);
