/*
 * A filter of system calls: a list of what is forbidden, or of what is allowed. What is refused
 * fails with EPERM. A filter holds for this process and what it starts, for good.
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
/* Answers by the bits of a flags argument (0 to 5): refused when one of `forbidden` is set. */
void seccomp_by_flags(struct seccomp_filter *f, unsigned call, unsigned argument,
		      uint32_t forbidden);
/* Allowed when the argument is one of the values, else refused. */
void seccomp_by_value(struct seccomp_filter *f, unsigned call, unsigned argument,
		      const uint32_t *values, size_t n);
/* As if the kernel had no such call: callers have another way. */
void seccomp_hide(struct seccomp_filter *f, unsigned call);
/* What is not in a list. All threads get the filter; no_new_privs is set already. */
enum err seccomp_install(struct seccomp_filter *f, bool allow_rest, struct fault *fault) MUST_CHECK;

/* Becoming another program or user, changing the machine, keys and memory of the kernel: calls that
 * no process of ours makes once it has started. */
void seccomp_forbid_usual(struct seccomp_filter *f);
