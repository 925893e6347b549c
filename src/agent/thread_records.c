#include "agent/thread_records.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"

/* Size of reads; larger than any record. */
#define OPEN_READ	   ((size_t)64 << 10)
#define RECORD_ONE_CEILING ((size_t)64 << 10)

struct reading {
	struct buf one; /* a record, aligned */
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
};

static size_t record_size(const struct record_head *head)
{
	if (!(head->flags & RECORD_RAW))
		return sizeof(*head) + 8 * (size_t)head->kernel_frames;
	return sizeof(*head) + 8 * ((size_t)head->kernel_frames + RECORD_REGISTERS) +
	       head->stack_size;
}

/* Hands out what is whole of the bytes read so far; returns how many bytes that was. */
static enum err hand_out(struct reading *r, const struct buf *bytes, size_t *ret_used)
{
	size_t used = 0;

	while (bytes->n - used >= sizeof(struct record_head)) {
		struct record_head head;
		size_t size;

		memcpy(&head, bytes->data + used, sizeof(head));
		size = record_size(&head);
		if (head.kernel_frames > RECORD_KERNEL_FRAMES_MAX ||
		    head.stack_size > RECORD_RAW_STACK)
			return ERR_CORRUPT;
		if (size > bytes->n - used)
			break;
		/* Sizes are multiples of 8 but for the stack's end: records are moved to the front.
		 */
		buf_clear(&r->one);
		buf_append(&r->one, bytes->data + used, size);
		TRY(buf_error(&r->one));
		TRY(r->record(r->context, (const struct record_head *)r->one.data, size));
		used += size;
	}
	*ret_used = used;
	return ERR_OK;
}

static enum err read_all(struct reading *r, int fd)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(OPEN_READ * 4);

	for (;;) {
		void *to = buf_reserve(&bytes, OPEN_READ);
		size_t used;
		ssize_t n;

		if (!to)
			return ERR_NO_MEMORY;
		n = read(fd, to, OPEN_READ);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n ? err_from_errno(errno) : ERR_OK;
		bytes.n += (size_t)n;
		TRY(hand_out(r, &bytes, &used));
		memmove(bytes.data, bytes.data + used, bytes.n - used);
		bytes.n -= used;
	}
}

enum err thread_records_read(int fd, void *context,
			     enum err (*record)(void *context, const struct record_head *head,
						size_t size))
{
	struct reading r = {
		.one = BUF_INIT(RECORD_ONE_CEILING), .context = context, .record = record};
	enum err e = read_all(&r, fd);

	buf_release(&r.one);
	return e;
}
