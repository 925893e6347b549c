// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Which unwinder handles a frame. Most frames are unwound by their module's table (unwind_step.h).
 * Where there is none, in JIT-compiled code or in the loop of an interpreter, the mapping of a
 * process or a row of a table selects another unwinder, a row of UNWINDERS. The unwind loop calls
 * it for that frame and continues with the frame that it leaves. The same code runs in the kernel
 * (bpf/unwind_user.h), in the agent (walk.c) and in the tests.
 *
 * An unwinder is a function
 *
 *	int step(void *context, struct unwind_frame *f)
 *
 * `f` is the frame whose address is already in the stack. The function reads memory with
 * unwind_read, and may add any number of frames:
 *
 *	unwind_add(context, word)	enum frame_kind (bpf/records.h) in the upper byte, below it
 *					an id of the frame for the agent; false: no room
 *
 * It turns `f` into the calling frame (unwind_settle: the stack pointer must rise) and returns -1
 * to continue, or enum unwind_end. In the kernel each is a function that is verified separately:
 * its loops must have a constant bound.
 *
 * To add one, write a header with its function, include it at the end of unwind_step.h, and add a
 * row here. kernel_mapping (agent/processes.c) and raw_stack.c select it for mappings, rows of
 * tables (UNWIND_RULE_OTHER) for addresses of a module. capture_add and names.c symbolize its
 * frames, by their kind; frames of a kind that is not symbolized are left out.
 */
#pragma once

#include "unwind_format.h"

/* More rows, for tests. */
#ifndef MORE_UNWINDERS
#define MORE_UNWINDERS(U)
#endif

#define UNWINDERS(U)                               \
	/* JIT compilers usually maintain rbp. */  \
	U(FRAME_POINTERS, unwind_by_frame_pointer) \
	MORE_UNWINDERS(U)

enum unwinder {
	UNWINDER_TABLE, /* of the module */
#define UNWINDER_NUMBER(name, step) UNWINDER_##name,
	UNWINDERS(UNWINDER_NUMBER)
#undef UNWINDER_NUMBER
		UNWINDER_COUNT
};

_Static_assert(UNWINDER_COUNT <= UNWIND_OTHER_MAX, "a mapping has room for so many");
