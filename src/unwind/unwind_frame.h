// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The state of a frame. */
#pragma once

#include "unwind_format.h"

struct unwind_frame {
	u64 pc, sp, bp;
	u32 leaf; /* pc is the instruction itself, not the one after a call */
	u32 unused;
};
