#include "sdk/stack_walk.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE		 4096ull
#define NO_PAGE		 1ull
/* Of a stack that is neither the first thread's nor one that libc made, as coroutines have. */
#define STRANGE_STACK	 (64ull << 10)
#define STACK_SIZE_USUAL (8ull << 20)

/* The memory of the walk: the thread's own stack, or a copy. */
struct memory {
	const struct stack_copy *copy; /* NULL = the memory itself */
	u64 low, high;		       /* the stack */
	u64 page;		       /* this one can be read; NO_PAGE = none yet */
	struct loaded *loaded;	       /* of a copy: where rules may be searched for */
};

static struct {
	u64 first_high, first_size; /* of the first thread */
	u64 other_size;
} stacks;

static _Atomic(void (*)(void)) on_missed;

void stack_walk_prepare(void)
{
	struct rlimit limit;
	pthread_attr_t usual;
	size_t size;

	/* The name of the program is above everything else on the stack. */
	stacks.first_high = getauxval(AT_EXECFN) & ~7ull;
	stacks.first_size = stacks.other_size = STACK_SIZE_USUAL;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		stacks.first_size = limit.rlim_cur;
	if (pthread_getattr_default_np(&usual) != 0)
		return;
	if (pthread_attr_getstacksize(&usual, &size) == 0)
		stacks.other_size = size;
	pthread_attr_destroy(&usual);
}

/* The end of the stack of `sp`. libc stores the thread descriptor at the upper end of the stack.
 * False for other stacks: `*ret` is then a guess. */
static bool stack_end(u64 sp, u64 *ret)
{
	u64 own = (u64)(uintptr_t)pthread_self();

	*ret = stacks.first_high;
	if (sp < *ret && *ret - sp <= stacks.first_size)
		return true;
	*ret = own;
	if (sp < *ret && *ret - sp <= stacks.other_size)
		return true;
	*ret = sp + STRANGE_STACK;
	return false;
}

/* The kernel copies the new mask before it validates `how`, which is invalid here, so that the mask
 * does not change. */
static bool page_readable(u64 page)
{
	enum { NO_SUCH_WAY = 99 };
	int saved = errno;
	bool readable =
		syscall(SYS_rt_sigprocmask, NO_SUCH_WAY, page, NULL, 8) != -1 || errno != EFAULT;

	errno = saved;
	return readable;
}

static bool own_bytes(struct memory *m, u64 address)
{
	u64 page = address & ~(PAGE - 1);

	if (page == m->page)
		return true;
	if (!page_readable(page))
		return false;
	m->page = page;
	return true;
}

static bool copied(const struct stack_copy *c, u64 address, u64 *ret)
{
	u64 at = address - c->start;

	if (address < c->start || at > c->size || c->size - at < sizeof(*ret))
		return false;
	memcpy(ret, c->bytes + at, sizeof(*ret));
	return true;
}

/* Other parts of the program know better than to read here: no sanitizer. */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) static bool unwind_read(
	void *context, u64 address, u64 *ret)
{
	struct memory *m = context;

	if (m->copy)
		return copied(m->copy, address, ret);
	/* Saved registers are aligned, so none lies on two pages. */
	if (address & 7 || address < m->low || address >= m->high || !own_bytes(m, address))
		return false;
	*ret = *(const volatile u64 *)address;
	return true;
}

#include "unwind/unwind_step.h"

_Static_assert(ARCH_REGISTERS == 17, "registers by DWARF number");

struct walked {
	u32 frames;
	u8 end;
	bool all_known; /* no address was outside of the modules whose tables there are */
	u32 missed;	/* the first module without a table yet, + 1 */
	u64 sp;		/* of the last frame */
};

static bool search_rule(const struct loaded_view *view, struct memory *m,
			const struct loaded_range *r, u64 address, u32 *ret)
{
	return m->loaded && loaded_search(m->loaded, r->module, address - r->bias, ret) &&
	       /* A rule that is new is in the next view. */
	       (!(*ret & UNWIND_ESCAPE) || (*ret & ~UNWIND_ESCAPE) < view->rule_count);
}

/* Code that no module holds was made at run time; its makers keep rbp. */
static u32 find_rule(const struct loaded_view *view, struct memory *m, u64 address,
		     struct walked *w)
{
	const struct loaded_range *r = loaded_find(view, address);
	u32 rule = UNWIND_RULE_FRAME_POINTER;

	if (!r || (r->pending && !search_rule(view, m, r, address, &rule))) {
		w->all_known = false;
		if (r && !w->missed)
			w->missed = r->module + 1;
		return UNWIND_RULE_FRAME_POINTER;
	}
	if (r->table)
		rule = unwind_table_rule(r->table, address - r->bias);
	atomic_store_explicit(loaded_recent(view, address), address << 16 | rule,
			      memory_order_relaxed);
	return rule;
}

static u32 rule_for(const struct loaded_view *view, struct memory *m, u64 address, struct walked *w)
{
	u64 recent = atomic_load_explicit(loaded_recent(view, address), memory_order_relaxed);

	return recent >> 16 == address ? recent & 0xffff : find_rule(view, m, address, w);
}

static int step(const struct loaded_view *view, struct memory *m, struct unwind_frame *f,
		const u64 *registers, bool first, struct walked *w)
{
	u32 rule = rule_for(view, m, unwind_lookup_address(f), w);

	if (!(rule & UNWIND_ESCAPE))
		return unwind_step_short(m, f, rule);
	rule &= ~UNWIND_ESCAPE;
	if (rule >= view->rule_count)
		return UNWIND_NO_RULE;
	return unwind_step_long(m, f, &view->rules[rule], registers, first);
}

static struct walked walk(const struct loaded_view *view, struct memory *m, const u64 *registers,
			  bool from_call, u64 *frames, u32 depth)
{
	struct unwind_frame f = {registers[ARCH_DWARF_RA], registers[ARCH_DWARF_RSP],
				 registers[ARCH_DWARF_RBP], !from_call, 0};
	struct walked w = {.all_known = true};
	int end = -1;

	while (end < 0) {
		if (w.frames == depth) {
			end = UNWIND_CUT;
			break;
		}
		/* The result of a wrong step is no frame. */
		if (f.pc < PAGE || f.pc >= ARCH_USER_END) {
			end = UNWIND_UNMAPPED;
			break;
		}
		frames[w.frames++] = f.pc;
		end = step(view, m, &f, registers, w.frames == 1 && !from_call, &w);
	}
	w.end = (u8)end;
	w.sp = f.sp;
	return w;
}

__attribute__((no_sanitize("address"), no_sanitize("thread"))) static void copy_bytes(u8 *to,
										      u64 from,
										      u32 n)
{
	for (u32 i = 0; i < n; i += 8)
		*(u64 *)(to + i) = *(const volatile u64 *)(from + i);
}

static struct raw_stack *copy_stack(const u64 *registers, bool from_call, u64 high)
{
	struct raw_stack *r = raw_stack_claim();
	u64 at;

	if (!r)
		return NULL;
	memcpy(r->registers, registers, sizeof(r->registers));
	r->from_call = from_call;
	r->start = at = registers[ARCH_DWARF_RSP] & ~7ull;
	r->size = 0;
	while (r->size < RAW_STACK_BYTES && at < high && page_readable(at & ~(PAGE - 1))) {
		u32 n = (u32)(PAGE - (at & (PAGE - 1)));

		if (n > RAW_STACK_BYTES - r->size)
			n = RAW_STACK_BYTES - r->size;
		if (n > high - at)
			n = (u32)(high - at) & ~7u;
		if (!n)
			break;
		copy_bytes(r->bytes + r->size, at, n);
		r->size += n;
		at += n;
	}
	return r;
}

void stack_walk_set_missed(void (*missed)(void))
{
	atomic_store(&on_missed, missed);
}

bool stack_walk(struct taken_sample *s, const u64 registers[17], bool from_call, u32 depth)
{
	struct memory m = {.low = registers[ARCH_DWARF_RSP] & ~7ull, .page = NO_PAGE};
	bool usual = stack_end(m.low, &m.high);
	const struct loaded_view *view = loaded_view_enter();
	struct walked w = {.end = UNWIND_NO_TABLE};
	void (*missed)(void);

	if (view)
		w = walk(view, &m, registers, from_call, s->frames, depth);
	loaded_view_leave();
	if (!w.frames)
		s->frames[w.frames++] = registers[ARCH_DWARF_RA];
	s->from_call = from_call;
	s->frame_count = w.frames;
	s->end = w.end;
	/* The module may be unknown: modules are scanned again before the copy is unwound. */
	if (!w.all_known && usual)
		s->raw = copy_stack(registers, from_call, m.high);
	missed = w.missed || !view ? atomic_load(&on_missed) : NULL;
	if (missed)
		missed();
	return !usual || s->raw || (view && !w.missed);
}

u32 stack_copy_walk(const struct loaded_view *view, const struct stack_copy *copy,
		    const u64 registers[17], bool from_call, u64 *frames, u32 depth,
		    struct stack_end *ret_end)
{
	struct memory m = {.copy = copy};
	struct walked w = walk(view, &m, registers, from_call, frames, depth);

	*ret_end = (struct stack_end){w.end, w.sp, w.missed};
	return w.frames;
}

u32 raw_stack_walk(struct loaded *l, const struct raw_stack *raw, u64 *frames, u32 depth)
{
	struct stack_copy copy = {raw->start, raw->size, raw->bytes};
	/* Of a stack that is larger than a copy the next must be walked where it stands. */
	struct memory m = {.copy = &copy, .loaded = raw->size < RAW_STACK_BYTES ? l : NULL};
	struct walked w;

	do
		w = walk(loaded_current(), &m, raw->registers, raw->from_call, frames, depth);
	while (w.missed && loaded_need(l, w.missed - 1));
	return w.frames;
}
