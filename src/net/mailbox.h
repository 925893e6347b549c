/*
 * Messages of other threads to a loop: a lock-free list, and an eventfd that wakes the loop when it
 * sleeps. Any thread may post; only the owner takes.
 *
 * The owner, around its wait:
 *	mailbox_sleep(m) says whether it may wait; epoll_wait(… m->fd …); mailbox_awake(m)
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"

enum mail_kind { MAIL_REPLY, MAIL_CONNECTION, MAIL_STOP };

struct mail {
	struct mail *next;
	enum mail_kind kind;
};

struct mailbox {
	_Atomic(struct mail *) newest;
	atomic_bool sleeping;
	atomic_uint posting; /* threads inside mailbox_post, for which release waits */
	int fd;		     /* -1: no wake-up */
};

/* Without wake-up, for an owner that polls. */
void mailbox_init(struct mailbox *m);
enum err mailbox_open(struct mailbox *m) MUST_CHECK;
/* Waits for threads inside mailbox_post; drops what was not taken. */
void mailbox_release(struct mailbox *m);
void mailbox_post(struct mailbox *m, struct mail *mail);
/* All messages, oldest first; NULL: none. */
struct mail *mailbox_take(struct mailbox *m);
/* False: there are messages, do not wait. */
bool mailbox_sleep(struct mailbox *m);
void mailbox_awake(struct mailbox *m);
