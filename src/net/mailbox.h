/*
 * What other threads hand to a loop: a list without a lock, and an eventfd that wakes the loop
 * when it sleeps. Any thread may post; one thread, the owner, takes.
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
	atomic_uint posting; /* threads inside mailbox_post: they must leave before release */
	int fd;		     /* -1: nobody to wake */
};

/* Without a wake-up: for an owner that looks by itself. */
void mailbox_init(struct mailbox *m);
enum err mailbox_open(struct mailbox *m) MUST_CHECK;
/* Waits for those still inside mailbox_post; what was posted and not taken is forgotten. */
void mailbox_release(struct mailbox *m);
void mailbox_post(struct mailbox *m, struct mail *mail);
/* All that was posted, oldest first; NULL: nothing. */
struct mail *mailbox_take(struct mailbox *m);
/* False: something is there already, do not wait. */
bool mailbox_sleep(struct mailbox *m);
void mailbox_awake(struct mailbox *m);
