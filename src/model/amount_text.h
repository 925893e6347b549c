/*
 * Amounts and rates as text with three significant digits: "0.45 cores", "340 MiB/min", "1.2 s".
 * web/src/flame/units.ts and web/src/ui/kinds.ts write the same; the examples in docs/numbers.md
 * are tests of both.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Three significant digits, thousands grouped: "0.45", "12.3", "1,234". */
void figure_put(struct buf *out, double value);
/* A value of a type: "1.2 s", "340 MiB", "12.3 k samples". */
void amount_text(struct buf *out, double value, struct str type, struct str unit);
/* A rate (rate.h) of a type: CPU time in cores, other times per second, small rates per minute. For
 * a gauge its mean; "–" if unknown. */
void rate_text(struct buf *out, double rate, struct str type, struct str unit, bool gauge);
/* A change as a share: "+322 %", "−4.2 %"; empty if unknown. */
void share_text(struct buf *out, double share);
