/* Looks at all threads. */
#include "agent/kernel_internal.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include "agent/thread_records.h"

static enum err look_at_threads(struct kernel_side *k, void *context,
				enum err (*record)(void *context, const struct record_head *head,
						   size_t size))
{
	enum err e;
	int fd;

	if (!k->threads)
		return ERR_OK;
	fd = bpf_iter_create(bpf_link__fd(k->threads));
	if (fd < 0)
		return err_from_errno(-fd);
	e = thread_records_read(fd, context, record);
	close(fd);
	return e;
}

enum err kernel_open_waits(struct kernel_side *k, void *context,
			   enum err (*record)(void *context, const struct record_head *head,
					      size_t size))
{
	return capture_needs_waits(k->options.types) ? look_at_threads(k, context, record) : ERR_OK;
}

enum err kernel_count_threads(struct kernel_side *k, void *context,
			      enum err (*record)(void *context, const struct record_head *head,
						 size_t size))
{
	enum err e;

	if (!k->threads)
		return ERR_OK;
	k->skeleton->data->settings.count_threads = 1;
	e = look_at_threads(k, context, record);
	k->skeleton->data->settings.count_threads = 0;
	return e;
}

u64 kernel_turn(const struct kernel_side *k, u32 tid)
{
	u64 start = 0;

	if (!k->skeleton || bpf_map__lookup_elem(k->skeleton->maps.loops, &tid, sizeof(tid), &start,
						 sizeof(start), 0))
		return 0;
	return start;
}
