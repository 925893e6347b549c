/*
 * A second unwinder, of the toy interpreter in test_second_unwinder.c: its loop keeps the pointer
 * to its newest frame below the saved rbp. It adds the toy's frames and goes on with the caller of
 * the loop.
 */
#pragma once

#define TOY_FRAMES_MAX 16

/* In the toy's memory; the oldest has no caller. */
struct toy_frame {
	u64 code;
	u64 caller;
};

static inline __attribute__((always_inline)) int unwind_by_toy(void *context,
							       struct unwind_frame *f)
{
	u64 at = 0, code = 0;

	if (!unwind_read(context, f->bp - 8, &at))
		return UNWIND_BAD_MEMORY;
	for (int i = 0; i < TOY_FRAMES_MAX && at; i++) {
		if (!unwind_read(context, at, &code))
			return UNWIND_BAD_MEMORY;
		if (!unwind_add(context, 1ull << 56 | code))
			return UNWIND_CUT;
		if (!unwind_read(context, at + 8, &at))
			return UNWIND_BAD_MEMORY;
	}
	return unwind_by_frame_pointer(context, f);
}
