/*
 * Private to src/queue: the directory of a queue and its files. Names are resolved relative to the
 * opened directory, without following links.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/* The header of an entry. */
#define QUEUE_HEAD_SIZE 32

struct queue_file {
	uint64_t number; /* increasing: the order of the queue */
	uint64_t size;	 /* including the header */
};

struct queue_file_list {
	VEC(struct queue_file) v;
};

/* Opens or creates the directory and locks it until the descriptor is closed. */
enum err queue_directory_open(const char *path, int *ret_fd, struct fault *fault) MUST_CHECK;
/* Lists the entries by number; removes unfinished files. */
enum err queue_directory_list(int directory, struct queue_file_list *ret) MUST_CHECK;
enum err queue_file_write(int directory, uint64_t number, struct str bytes) MUST_CHECK;
/* Appends the bytes of an entry. ERR_CORRUPT if it is incomplete or no entry. */
enum err queue_file_read(int directory, uint64_t number, struct buf *ret) MUST_CHECK;
void queue_file_remove(int directory, uint64_t number);
