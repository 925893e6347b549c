// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Who walks a frame. Most frames are walked by their module's table (unwind_step.h). Where a table
 * cannot tell, in code made at run time or in the loop of an interpreter, the mapping of a process
 * or a row of a table names another unwinder, a row of UNWINDERS; the loop of the walk calls it for
 * that frame and goes on with the one it leaves. The same code runs in the kernel
 *(bpf/unwind_user.h), in the agent (walk.c) and in the tests.
 *
 * An unwinder is a function
 *
 *	int step(void *context, struct unwind_frame *f)
 *
 * `f` is the frame whose address is in the stack already. It reads memory with unwind_read, and may
 * add frames of its own, as many as it finds:
 *
 *	unwind_add(context, word)	enum frame_kind (bpf/records.h) in the upper byte, below it
 *					what the agent will know the frame by; false: no room
 *
 * It makes of `f` the frame that called (unwind_settle: the stack pointer must rise) and returns -1
 * to go on, or enum unwind_end. In the kernel each is verified by itself, as a function of its own:
 * its loops must have a constant bound.
 *
 * One more is a header with its function, included at the end of unwind_step.h, and a row here.
 * Which mappings are its own is said by kernel_mapping (agent/processes.c) and raw_stack.c, which
 * addresses of a module by rows of its table (UNWIND_RULE_OTHER). What names its frames belongs to
 * capture_add and names.c there, by their kind; a kind that nobody names is left out.
 */
#pragma once

#include "unwind_format.h"

/* More rows, for tests. */
#ifndef MORE_UNWINDERS
#define MORE_UNWINDERS(U)
#endif

#define UNWINDERS(U)                                 \
	/* Compilers at run time mostly keep rbp. */ \
	U(FRAME_POINTERS, unwind_by_frame_pointer)   \
	MORE_UNWINDERS(U)

enum unwinder {
	UNWINDER_TABLE, /* of the module */
#define UNWINDER_NUMBER(name, step) UNWINDER_##name,
	UNWINDERS(UNWINDER_NUMBER)
#undef UNWINDER_NUMBER
		UNWINDER_COUNT
};

_Static_assert(UNWINDER_COUNT <= UNWIND_OTHER_MAX, "a mapping has room for so many");
