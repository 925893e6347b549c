/*
 * Builds unwind tables of files: a dedicated thread passes them to a worker (worker_host.h), so
 * that nothing else waits; a library of 100 MB takes 0.1 s. A file that exceeds the worker's limits
 * gets no table.
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

/* New long rules are written to `rules`, which BPF programs read, before a result is delivered. */
enum err table_reader_new(struct unwind_rule *rules, struct table_reader **ret) MUST_CHECK;
void table_reader_free(struct table_reader *r);
/*
 * Queues a file of `owner` with `size` bytes, or a trusted image in memory. The descriptor stays
 * the caller's and must remain open. Owners are scheduled fairly (owner_queue.h).
 */
enum err table_reader_queue(struct table_reader *r, u32 module, int fd, u32 owner, u64 size,
			    struct str image) MUST_CHECK;
/* Becomes readable (EPOLLET) for each new result. */
int table_reader_fd(const struct table_reader *r);
/* The next result, whose table the caller then owns; false if there is none. */
bool table_reader_take(struct table_reader *r, struct table_result *ret);
