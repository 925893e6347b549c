#include "sdk/live_objects.h"

#include <stddef.h>
#include <sys/mman.h>

#include "sdk/own_pages.h"

/* No object has such an address. */
#define BEING_FILLED 1ull

struct live_table *live_table;
static atomic_uint_least64_t serials, lost;

bool live_open(void)
{
	if (!live_table)
		live_table = own_pages(sizeof(*live_table));
	return live_table;
}

u64 live_add(u64 address, s64 count, s64 bytes)
{
	u32 line = live_line(address);
	u64 serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;

	for (u32 i = 0; i < LIVE_PER_LINE; i++) {
		_Atomic(u64) *place = &live_table->addresses[line][i];
		struct live_object *o = &live_table->objects[line][i];
		u64 expected = 0;

		if (atomic_load_explicit(place, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(place, &expected, BEING_FILLED))
			continue;
		o->count = count;
		o->bytes = bytes;
		o->serial = serial;
		atomic_store_explicit(&o->stack, 0, memory_order_relaxed);
		atomic_fetch_add(&live_table->counts[line], 1);
		atomic_store_explicit(place, address, memory_order_release);
		return serial;
	}
	atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
	return 0;
}

void live_remove(u64 address)
{
	u32 line = live_line(address);

	for (u32 i = 0; i < LIVE_PER_LINE; i++) {
		_Atomic(u64) *place = &live_table->addresses[line][i];

		if (atomic_load_explicit(place, memory_order_relaxed) != address)
			continue;
		/* Before freeing the entry, which another object may then use. */
		atomic_fetch_sub(&live_table->counts[line], 1);
		atomic_store_explicit(place, 0, memory_order_release);
		return;
	}
}

void live_set_stack(u64 address, u64 serial, u32 stack)
{
	u32 line = live_line(address);

	for (u32 i = 0; live_table && i < LIVE_PER_LINE; i++) {
		struct live_object *o = &live_table->objects[line][i];

		if (atomic_load_explicit(&live_table->addresses[line][i], memory_order_acquire) ==
			    address &&
		    o->serial == serial)
			atomic_store_explicit(&o->stack, stack + 1, memory_order_relaxed);
	}
}

void live_each(void (*each)(void *context, u32 stack, s64 count, s64 bytes), void *context)
{
	for (u32 line = 0; live_table && line < LIVE_LINES; line++) {
		if (!atomic_load_explicit(&live_table->counts[line], memory_order_relaxed))
			continue;
		for (u32 i = 0; i < LIVE_PER_LINE; i++) {
			const struct live_object *o = &live_table->objects[line][i];
			u64 address = atomic_load_explicit(&live_table->addresses[line][i],
							   memory_order_acquire);
			u32 stack = atomic_load_explicit(&o->stack, memory_order_relaxed);

			if (address > BEING_FILLED && stack)
				each(context, stack - 1, o->count, o->bytes);
		}
	}
}

void live_forget(void)
{
	if (live_table)
		madvise(live_table, sizeof(*live_table), MADV_DONTNEED);
}

u64 live_lost(void)
{
	return atomic_load_explicit(&lost, memory_order_relaxed);
}
