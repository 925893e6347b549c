/*
 * Unwinding tables of files: a thread of its own hands them to a worker (worker_host.h), which
 * interrupts nobody for it: a library of 100 MB takes a tenth of a second. A file that is too much
 * for its worker has no table.
 */
#pragma once

#include "unwind/unwind.h"

struct table_reader;

struct table_result {
	u32 module;
	enum err error;
	struct unwind_image image;
	struct unwind_table table;
};

/* New long rules are written to `rules`, which the kernel side reads, before a result is given. */
enum err table_reader_new(struct unwind_rule *rules, struct table_reader **ret) MUST_CHECK;
void table_reader_free(struct table_reader *r);
/*
 * Queues a file of `owner`, of so many bytes (the descriptor stays the caller's and must stay
 * open), or an image in memory that can be trusted. Owners are served fairly (owner_queue.h).
 */
enum err table_reader_queue(struct table_reader *r, u32 module, int fd, u32 owner, u64 size,
			    struct str image) MUST_CHECK;
/* Becomes readable (EPOLLET) when there is one more result. */
int table_reader_fd(const struct table_reader *r);
/* The next finished one, whose table the caller then owns; false when there is none. */
bool table_reader_take(struct table_reader *r, struct table_result *ret);
