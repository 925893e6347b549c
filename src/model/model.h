/*
 * The profile in memory. Other folders include this header only.
 *
 *	dict.h     strings, functions, frames, stacks, labels: everything by id
 *	profile.h  rows over a dictionary
 *	remap.h    ids of one dictionary into those of another
 *	ops.h      merge, aggregate, filter, subtract
 *	tree.h     the call tree, pruned
 *	top.h      the exact function table
 *	diff.h     two profiles compared
 *	types.h    the table of profile types and units
 *	redact.h   removes secrets before data leaves the host
 *	pattern.h  regular expressions
 *	linear_regex.h  untrusted regular expressions
 *	broken_stacks.h  truncated and incompletely unwound stacks
 *	completeness.h  how much of the measured data arrived
 *	series.h   a profile with its series labels; spans
 *	rate.h     rates and coverage: values over time
 *	rate_change.h  significance of changes of rates
 *	amount_text.h  amounts and rates as text
 */
#pragma once

#include "model/amount_text.h"
#include "model/broken_stacks.h"
#include "model/completeness.h"
#include "model/diff.h"
#include "model/dict.h"
#include "model/linear_regex.h"
#include "model/ops.h"
#include "model/pattern.h"
#include "model/profile.h"
#include "model/rate.h"
#include "model/rate_change.h"
#include "model/redact.h"
#include "model/remap.h"
#include "model/series.h"
#include "model/top.h"
#include "model/tree.h"
#include "model/types.h"
