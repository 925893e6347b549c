#include "agent/own_sample.h"

/* Context markers among the addresses of a chain begin here. */
#define FIRST_MARKER ((u64)PERF_CONTEXT_MAX)

struct words {
	const char *at, *end;
};

static bool take(struct words *w, void *to, size_t size)
{
	if ((size_t)(w->end - w->at) < size)
		return false;
	memcpy(to, w->at, size);
	w->at += size;
	return true;
}

static bool take_kernel(struct words *w, struct record_head *head, struct buf *to)
{
	u64 count, address;

	if (!take(w, &count, sizeof(count)) || count > (size_t)(w->end - w->at) / sizeof(address))
		return false;
	for (u64 i = 0; i < count && take(w, &address, sizeof(address)); i++) {
		if (address >= FIRST_MARKER || head->kernel_frames == RECORD_KERNEL_FRAMES_MAX)
			continue;
		buf_append(to, &address, sizeof(address));
		head->kernel_frames++;
	}
	return true;
}

/* The kernel's order (rax rbx rcx rdx rsi rdi rbp rsp rip r8 …) becomes that of DWARF. */
static bool take_registers(struct words *w, struct buf *to)
{
	static const u8 order[RECORD_REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 9,
						   10, 11, 12, 13, 14, 15, 16, 8};
	u64 registers[RECORD_REGISTERS];

	if (!take(w, registers, sizeof(registers)))
		return false;
	for (unsigned i = 0; i < RECORD_REGISTERS; i++)
		buf_append(to, &registers[order[i]], sizeof(registers[0]));
	return true;
}

/* The size of the stack area, and the valid size after it. */
static bool take_stack(struct words *w, struct record_head *head, struct buf *to)
{
	const char *stack;
	u64 room, filled = 0;

	if (!take(w, &room, sizeof(room)) || room > (size_t)(w->end - w->at))
		return false;
	stack = w->at;
	w->at += room;
	if (room && !take(w, &filled, sizeof(filled)))
		return false;
	if (filled > room || filled > RECORD_RAW_STACK)
		return false;
	head->stack_size = (u32)filled;
	buf_append(to, stack, filled);
	return true;
}

bool own_sample_parse(const struct perf_event_header *h, bool chain, struct buf *to)
{
	struct words w = {(const char *)(h + 1), (const char *)h + h->size};
	struct record_head head = {
		.kind = RECORD_CPU, .flags = RECORD_RAW, .syscall = -1, .address_space = 1};
	u64 abi;

	buf_clear(to);
	buf_append(to, &head, sizeof(head));
	if (h->type != PERF_RECORD_SAMPLE || !take(&w, &head.pid, sizeof(head.pid)) ||
	    !take(&w, &head.tid, sizeof(head.tid)) || !take(&w, &head.time, sizeof(head.time)) ||
	    !take(&w, &head.value, sizeof(head.value)))
		return false;
	if ((chain && !take_kernel(&w, &head, to)) || !take(&w, &abi, sizeof(abi)))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		head.flags = RECORD_NO_USER;
	else if (!take_registers(&w, to) || !take_stack(&w, &head, to))
		return false;
	if (buf_error(to))
		return false;
	memcpy(to->data, &head, sizeof(head));
	return true;
}
