/*
 * The protocol between agent and worker, over a socket: a head, perhaps with a descriptor, then
 * bytes. The agent trusts no answer: a malicious file may have compromised the worker.
 *
 *	WIRE_TABLE	+ the file's descriptor
 *			<- struct wire_table, page table, rules, blocks
 *	WIRE_NAMES	+ descriptor; path, u64 addresses[] in order
 *			<- struct wire_names, then as many struct wire_range as it takes to hold
 *			all addresses, each followed by its struct wire_frame and their texts
 *	WIRE_DEBUG	+ descriptor of the module's debug file, for the questions that follow
 *	WIRE_CODE	+ descriptor of a perf map; u64 addresses[] in order
 *			<- as for WIRE_NAMES
 *	WIRE_VARIABLE	+ descriptor; path, u64 address
 *			<- struct wire_names, u64 offset in the variable, its name
 */
#pragma once

#include "base/buf.h"
#include "unwind/unwind.h"

enum wire_kind { WIRE_TABLE = 16, WIRE_NAMES, WIRE_VARIABLE, WIRE_DEBUG, WIRE_CODE };

struct wire_head {
	u32 kind;
	u32 count; /* addresses */
	u32 size;  /* bytes of the path */
	u32 unused;
	u64 serial; /* of the module or process: repeated requests are answered faster */
};

struct wire_table {
	u32 error; /* enum err */
	u32 page_count;
	u32 rule_count;
	u32 unused;
	u64 block_bytes, rows;
	struct unwind_image image;
};

struct wire_names {
	u32 error;	 /* enum err */
	u32 size;	 /* bytes that follow */
	u64 memory;	 /* memory of the worker */
	u32 wants_debug; /* a debug file is needed, and the worker found none */
	u32 unused;
};

/* A range of addresses with the same symbols: a function, or a line of one. */
struct wire_range {
	u64 start, end;
	u32 frames; /* 0 = no names */
	u32 unused;
};

struct wire_frame {
	u32 line, start_line;
	u16 column, inlined;
	u16 function, linkage, file; /* bytes of text */
	u16 unused;
};

#define WIRE_ADDRESSES_MAX 1024u
#define WIRE_FRAMES_MAX	   64u
#define WIRE_PATH_MAX	   4096u
#define WIRE_NAMES_MAX	   ((size_t)16 << 20)
/* More than BPF maps and agent can hold. */
#define WIRE_BLOCKS_MAX	   ((size_t)24 << 20)
#define WIRE_PAGES_MAX	   65536u

#define WIRE_FOREVER INT64_MAX

/* `fd` is sent along; the caller keeps it; -1 = none. */
enum err wire_send_head(int socket, const struct wire_head *head, int fd) MUST_CHECK;
/* The caller owns `*ret_fd`; -1 if none was sent. ERR_TRUNCATED: the other side has closed the
 * socket. */
enum err wire_recv_head(int socket, struct wire_head *ret, int *ret_fd,
			int64_t deadline) MUST_CHECK;
enum err wire_send(int socket, const void *bytes, size_t size) MUST_CHECK;
/* Waits until there is something to receive. ERR_TIMEOUT at the deadline (clock_monotonic_ns), here
 * and below. */
enum err wire_wait(int socket, int64_t deadline) MUST_CHECK;
enum err wire_recv(int socket, void *bytes, size_t size, int64_t deadline) MUST_CHECK;
