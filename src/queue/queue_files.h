/*
 * Inside src/queue: the directory of a queue and its files. Every name is looked up below the
 * opened directory, and no link is followed.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/* In front of an entry's bytes. */
#define QUEUE_HEAD_SIZE 32

struct queue_file {
	uint64_t number; /* grows: the order of the queue */
	uint64_t size;	 /* with its head */
};

struct queue_file_list {
	VEC(struct queue_file) v;
};

/* Opens (makes) the directory and locks it; the descriptor keeps the lock. */
enum err queue_directory_open(const char *path, int *ret_fd, struct fault *fault) MUST_CHECK;
/* The entries in it, by number; removes what an earlier program did not finish. */
enum err queue_directory_list(int directory, struct queue_file_list *ret) MUST_CHECK;
enum err queue_file_write(int directory, uint64_t number, struct str bytes) MUST_CHECK;
/* Appends the bytes of an entry. ERR_CORRUPT when it is not whole, or not ours. */
enum err queue_file_read(int directory, uint64_t number, struct buf *ret) MUST_CHECK;
void queue_file_remove(int directory, uint64_t number);
