/*
 * System call filters: a list of forbidden or of allowed calls. Others fail with EPERM. A filter is
 * permanent for this process and its children.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SECCOMP_CODE_MAX 512

struct seccomp_code {
	uint16_t code;
	uint8_t yes, no;
	uint32_t value;
};

struct seccomp_filter {
	struct seccomp_code code[SECCOMP_CODE_MAX];
	unsigned n;
};

/* Refuses numbers of another architecture; comes first. */
void seccomp_begin(struct seccomp_filter *f);
void seccomp_list(struct seccomp_filter *f, const unsigned *calls, size_t n, bool allow);
/* Refuses the call if its flags argument (0 to 5) has one of the bits `forbidden`. */
void seccomp_by_flags(struct seccomp_filter *f, unsigned call, unsigned argument,
		      uint32_t forbidden);
/* Allows the call only if the argument is one of the values. */
void seccomp_by_value(struct seccomp_filter *f, unsigned call, unsigned argument,
		      const uint32_t *values, size_t n);
/* Fails with ENOSYS, so that callers use another way. */
void seccomp_hide(struct seccomp_filter *f, unsigned call);
/* The result for calls not in the list. All threads get the filter; requires no_new_privs. */
enum err seccomp_install(struct seccomp_filter *f, bool allow_rest, struct fault *fault) MUST_CHECK;

/* Calls that no process of ours needs after startup: exec, changes of user, administration, kernel
 * keys and kernel memory. */
void seccomp_forbid_usual(struct seccomp_filter *f);
