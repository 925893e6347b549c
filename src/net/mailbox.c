#include "net/mailbox.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

void mailbox_init(struct mailbox *m)
{
	atomic_init(&m->newest, NULL);
	atomic_init(&m->sleeping, false);
	atomic_init(&m->posting, 0);
	m->fd = -1;
}

enum err mailbox_open(struct mailbox *m)
{
	mailbox_init(m);
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return m->fd < 0 ? err_from_errno(errno) : ERR_OK;
}

void mailbox_release(struct mailbox *m)
{
	while (atomic_load(&m->posting))
		sched_yield();
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	atomic_store(&m->newest, NULL);
}

void mailbox_post(struct mailbox *m, struct mail *mail)
{
	struct mail *newest;

	atomic_fetch_add(&m->posting, 1);
	newest = atomic_load_explicit(&m->newest, memory_order_relaxed);
	do
		mail->next = newest;
	while (!atomic_compare_exchange_weak(&m->newest, &newest, mail));
	/* From here on the mail is the owner's. Only the first of several needs to wake it. */
	if (m->fd >= 0 && atomic_load(&m->sleeping) && atomic_exchange(&m->sleeping, false)) {
		uint64_t one = 1;
		/* It fails only when 2^64 wake-ups were not read: the owner wakes anyway. */
		ssize_t written = write(m->fd, &one, sizeof(one));

		(void)written;
	}
	atomic_fetch_sub(&m->posting, 1);
}

struct mail *mailbox_take(struct mailbox *m)
{
	struct mail *newest, *oldest = NULL;

	if (!atomic_load_explicit(&m->newest, memory_order_relaxed))
		return NULL;
	newest = atomic_exchange(&m->newest, NULL);
	while (newest) {
		struct mail *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

bool mailbox_sleep(struct mailbox *m)
{
	atomic_store(&m->sleeping, true);
	/* Threads that posted before this line did not see the owner asleep, so check once more. */
	return atomic_load(&m->newest) == NULL;
}

void mailbox_awake(struct mailbox *m)
{
	atomic_store(&m->sleeping, false);
}
