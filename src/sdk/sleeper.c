#include "sdk/sleeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "sdk/own_threads.h"
#include "sdk/quiet_calls.h"
#include "sdk/stack_walk.h"
#include "unwind/arch_x86_64.h"

#define PAGE	     4096ull
#define COPY_PAGES   17
/* Limits of the search for rbp: maximum frame size, and number of candidates. */
#define SEARCH_BYTES 8192
#define SEARCH_TRIES 64
#define STACK_MOST   (64ull << 20)
/* The thread may start running meanwhile. */
#define LOOKS	     3

static u8 copy[COPY_PAGES * PAGE];

s64 sleeper_cpu_ns(int tid)
{
	struct timespec now;

	return clock_gettime(thread_cpu_clock(tid), &now) ? -1
							  : now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Reads a short /proc file of the thread; false if it does not exist. */
static bool read_text(int tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = quiet_open(path);
	if (fd < 0)
		return false;
	n = quiet_read(fd, text, size - 1);
	quiet_close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

s64 sleeper_delay_ns(int tid)
{
	struct str rest, ran, delayed;
	uint64_t ns;
	char text[128];

	if (!read_text(tid, "schedstat", text, sizeof(text)))
		return 0;
	rest = str_of(text);
	if (!str_split(&rest, ' ', &ran) || !str_split(&rest, ' ', &delayed) ||
	    str_to_u64(delayed, 10, &ns) || ns > INT64_MAX)
		return 0;
	return (s64)ns;
}

static bool hexadecimal(struct str text, u64 *ret)
{
	uint64_t value;

	text = str_trim(text);
	if (!str_starts(text, STR("0x")) || str_to_u64(str_skip(text, 2), 16, &value) || !value)
		return false;
	*ret = value;
	return true;
}

/* "running", "-1 SP PC", or the call's number, six arguments, SP and PC. */
static enum sleeper_state read_place(int tid, u64 *ret_sp, u64 *ret_pc)
{
	struct str rest, one, before = {0}, last = {0};
	char text[256];

	if (!read_text(tid, "syscall", text, sizeof(text)))
		return errno == ENOENT || errno == ESRCH ? SLEEPER_GONE : SLEEPER_HIDDEN;
	rest = str_of(text);
	if (str_starts(rest, STR("running")))
		return SLEEPER_RUNS;
	while (str_split(&rest, ' ', &one)) {
		before = last;
		last = one;
	}
	return hexadecimal(before, ret_sp) && hexadecimal(last, ret_pc) ? SLEEPER_SLEEPS
									: SLEEPER_HIDDEN;
}

enum sleeper_state sleeper_is(int tid)
{
	u64 sp, pc;

	return read_place(tid, &sp, &pc);
}

/* Reads memory of this process by a system call, which fails for unmapped addresses instead of
 * raising a signal. */
static u32 copy_memory(u64 from, u8 *to, u32 size)
{
	struct iovec here = {to, size}, there[COPY_PAGES + 1];
	unsigned long n = 0;
	ssize_t got;

	for (u64 at = from, end = from + size; at < end && n <= COPY_PAGES;) {
		u64 next = (at & ~(PAGE - 1)) + PAGE;

		there[n++] = (struct iovec){(void *)(uintptr_t)at, (next < end ? next : end) - at};
		at = next;
	}
	got = process_vm_readv(getpid(), &here, 1, there, n, 0);
	return got > 0 ? (u32)got : 0;
}

/* ------------------------------------------------------------------ rbp */

static u64 word(const struct stack_copy *c, u64 at)
{
	u64 value = 0;

	if (at >= c->start && at - c->start + sizeof(value) <= c->size)
		memcpy(&value, c->bytes + (at - c->start), sizeof(value));
	return value;
}

/* Whether the bytes before it are a call: direct, or through a register or memory. */
static bool behind_call(const struct loaded_view *view, u64 address)
{
	u8 code[7];

	if (!loaded_find(view, address - 1) ||
	    copy_memory(address - sizeof(code), code, sizeof(code)) != sizeof(code))
		return false;
	if (code[2] == 0xe8)
		return true;
	for (int i = 0; i < 6; i++)
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/* A candidate for a saved rbp: unlike other values it points to a higher address than its own. */
static bool may_be_saved(const struct stack_copy *c, u64 at, bool strict)
{
	u64 outer = word(c, at);

	return !strict || (outer > at && outer - at < STACK_MOST && !(outer & 7));
}

static u32 search(const struct loaded_view *view, const struct stack_copy *c, u64 from, bool strict,
		  u64 registers[17], u64 *frames, u32 depth)
{
	u64 end = c->start + c->size;
	int tries = 0;

	for (u64 at = from; at + 16 <= end && at < from + SEARCH_BYTES && tries < SEARCH_TRIES;
	     at += 8) {
		struct stack_end found;
		u32 n;

		if (!may_be_saved(c, at, strict) || !behind_call(view, word(c, at + 8)))
			continue;
		tries++;
		registers[ARCH_DWARF_RBP] = at;
		n = stack_copy_walk(view, c, registers, false, frames, depth, &found);
		if (found.why == UNWIND_ROOT || found.why == UNWIND_CUT)
			return n;
	}
	return 0;
}

static void walk(struct loaded *l, u64 sp, u64 pc, u32 depth, struct sleeper *ret)
{
	const struct loaded_view *view;
	struct stack_copy c = {.start = sp & ~7ull, .bytes = copy};
	u64 registers[17] = {[ARCH_DWARF_RA] = pc, [ARCH_DWARF_RSP] = sp};
	u64 found[SAMPLE_FRAMES_MAX];
	struct stack_end end;
	u32 n;

	ret->count = 1;
	ret->frames[0] = pc;
	c.size = copy_memory(c.start, copy, sizeof(copy));
	if (!loaded_current() || !c.size)
		return;
	do {
		view = loaded_current();
		ret->count = stack_copy_walk(view, &c, registers, false, ret->frames, depth, &end);
	} while (end.missed && loaded_need(l, end.missed - 1));
	if (end.why != UNWIND_BAD_MEMORY)
		return;
	n = search(view, &c, end.sp, true, registers, found, depth);
	/* A function that keeps no frame pointer has anything in rbp. */
	if (!n)
		n = search(view, &c, end.sp, false, registers, found, depth);
	if (n > ret->count) {
		memcpy(ret->frames, found, n * sizeof(*found));
		ret->count = n;
	}
}

enum sleeper_state sleeper_look(struct loaded *l, int tid, u32 depth, struct sleeper *ret)
{
	enum sleeper_state state = SLEEPER_RUNS;

	for (int i = 0; i < LOOKS; i++) {
		u64 sp, pc;

		ret->cpu_ns = sleeper_cpu_ns(tid);
		if (ret->cpu_ns < 0)
			return SLEEPER_GONE;
		state = read_place(tid, &sp, &pc);
		if (state != SLEEPER_SLEEPS)
			return state;
		walk(l, sp, pc, depth, ret);
		if (sleeper_cpu_ns(tid) == ret->cpu_ns)
			return SLEEPER_SLEEPS;
	}
	return SLEEPER_RUNS;
}
