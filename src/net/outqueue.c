#include "net/outqueue.h"

#include "base/alloc.h"

#define SMALL_BYTES 2048u	/* below it, copying is cheaper than another piece */
#define SMALL_CAP   (16u << 10) /* of pieces that small bytes are gathered in */

struct outpart {
	struct outpart *next;
	struct buf own;	  /* empty: `bytes` are not owned */
	struct str bytes; /* those not yet sent */
	struct memory_hold hold;
};

static struct outpart *part_add(struct outqueue *q)
{
	struct outpart *part = q->error ? NULL : mem_zalloc(1, sizeof(*part));

	if (!part) {
		q->error = q->error ? q->error : ERR_NO_MEMORY;
		return NULL;
	}
	if (q->last)
		q->last->next = part;
	else
		q->first = part;
	q->last = part;
	return part;
}

static void part_drop_first(struct outqueue *q)
{
	struct outpart *part = q->first;

	q->first = part->next;
	if (!q->first)
		q->last = NULL;
	buf_release(&part->own);
	memory_hold_release(&part->hold);
	mem_free(part);
}

void outqueue_release(struct outqueue *q)
{
	while (q->first)
		part_drop_first(q);
	q->bytes = 0;
	q->error = ERR_OK;
}

void outqueue_copy(struct outqueue *q, struct str bytes)
{
	struct outpart *part = q->last;

	if (!bytes.n || q->error)
		return;
	/* A part that was taken over has its own ceiling and is not touched. */
	if (!part || part->own.ceiling != SMALL_CAP || part->own.n + bytes.n > SMALL_CAP) {
		part = part_add(q);
		if (!part)
			return;
		buf_init(&part->own, bytes.n > SMALL_CAP ? bytes.n : SMALL_CAP);
	}
	buf_append(&part->own, bytes.p, bytes.n);
	if (part->own.error) {
		/* Nothing was added; what the part held before is still whole. */
		q->error = part->own.error;
		return;
	}
	/* The buffer may have moved; what was sent stays at its beginning. */
	part->bytes.n += bytes.n;
	part->bytes.p = part->own.data + part->own.n - part->bytes.n;
	q->bytes += bytes.n;
}

void outqueue_take(struct outqueue *q, struct buf *b, struct memory_hold *hold)
{
	struct outpart *part;

	if (b->n <= SMALL_BYTES) {
		outqueue_copy(q, buf_view(b));
		buf_release(b);
		return;
	}
	part = part_add(q);
	if (!part) {
		buf_release(b);
		return;
	}
	if (hold) {
		part->hold = *hold;
		*hold = (struct memory_hold){0};
	}
	part->own = *b;
	part->own.ceiling = 0;
	part->bytes = buf_view(b);
	q->bytes += b->n;
	*b = BUF_INIT(b->ceiling);
}

void outqueue_static(struct outqueue *q, struct str bytes)
{
	struct outpart *part;

	if (bytes.n <= SMALL_BYTES) {
		outqueue_copy(q, bytes);
		return;
	}
	part = part_add(q);
	if (!part)
		return;
	part->bytes = bytes;
	q->bytes += bytes.n;
}

int outqueue_view(const struct outqueue *q, struct iovec *parts, int max)
{
	int n = 0;

	for (const struct outpart *part = q->first; part && n < max; part = part->next)
		if (part->bytes.n)
			parts[n++] =
				(struct iovec){(void *)(uintptr_t)part->bytes.p, part->bytes.n};
	return n;
}

void outqueue_sent(struct outqueue *q, size_t n)
{
	q->bytes -= n;
	while (q->first) {
		struct str *bytes = &q->first->bytes;
		size_t taken = n < bytes->n ? n : bytes->n;

		*bytes = str_skip(*bytes, taken);
		n -= taken;
		if (bytes->n)
			return;
		part_drop_first(q);
	}
}
