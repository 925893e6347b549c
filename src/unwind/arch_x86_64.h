// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * x86-64 specifics: DWARF register numbers, the kernel's signal frame, the order of struct pt_regs.
 */
#pragma once

#define ARCH_DWARF_RBP 6
#define ARCH_DWARF_RSP 7
#define ARCH_DWARF_RA  16
#define ARCH_REGISTERS 17

/* At the signal trampoline rsp points to a struct ucontext; its general registers begin here. */
#define ARCH_SIGNAL_RBP 120
#define ARCH_SIGNAL_RSP 160
#define ARCH_SIGNAL_RIP 168

/* The end of user space with four-level page tables; no stack or code lies above. */
#define ARCH_USER_END 0x7ffffffff000ull
