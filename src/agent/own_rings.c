#include "agent/own_rings.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/sideband_records.h"

/* The default of kernel.perf_event_mlock_kb: locked memory per user and CPU. */
#define MOST_PAGES  128u
#define LEAST_PAGES 8u

int own_event_open(struct perf_event_attr *attr, u32 tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, (pid_t)tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* An event that counts nothing and stays as long as the ring: others write there too. */
static int open_holder(const struct own_rings *r, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (u32)(r->data_size / 2),
	};

	return own_event_open(&attr, 0, cpu);
}

static enum err refused(struct fault *fault)
{
	if (errno == EACCES || errno == EPERM)
		return fault_set(fault, ERR_NO_PERMISSION,
				 "this user may not use perf events: run as root, or type sudo "
				 "sysctl kernel.perf_event_paranoid=2 for your own processes");
	return fault_set(fault, err_from_errno(errno), "perf events cannot be opened: %s",
			 strerror(errno));
}

static enum err open_one(struct own_rings *r, int cpu, struct fault *fault)
{
	struct own_ring ring = {.fd = open_holder(r, cpu), .cpu = cpu};
	enum err e;

	if (ring.fd < 0)
		return errno == ENODEV ? ERR_OK : refused(fault);
	ring.page = mmap(NULL, r->page_size + r->data_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.fd, 0);
	if (ring.page == MAP_FAILED) {
		close(ring.fd);
		return fault_set(fault, ERR_NO_MEMORY, "no memory for samples: %s",
				 strerror(errno));
	}
	e = vec_push(&r->list, ring);
	if (e) {
		munmap(ring.page, r->page_size + r->data_size);
		close(ring.fd);
	}
	return e;
}

static void close_list(struct own_rings *r)
{
	vec_for_each (ring, &r->list) {
		munmap(ring->page, r->page_size + r->data_size);
		close(ring->fd);
	}
	vec_release(&r->list);
}

enum err own_rings_open(struct own_rings *r, struct fault *fault)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	enum err e = ERR_NO_MEMORY;

	*r = (struct own_rings){.page_size = (size_t)sysconf(_SC_PAGESIZE),
				.record = BUF_INIT(65536)};
	for (unsigned pages = MOST_PAGES; e == ERR_NO_MEMORY && pages >= LEAST_PAGES; pages /= 2) {
		r->data_size = pages * r->page_size;
		e = ERR_OK;
		for (int cpu = 0; !e && cpu < cpus; cpu++)
			e = open_one(r, cpu, fault);
		if (e)
			close_list(r);
	}
	return e;
}

void own_rings_close(struct own_rings *r)
{
	close_list(r);
	buf_release(&r->record);
}

static enum err read_one(struct own_rings *r, struct own_ring *ring, void *context,
			 enum err (*take)(void *context, const struct perf_event_header *h))
{
	const char *data = (const char *)ring->page + r->page_size;
	u64 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = ring->page->data_tail;
	enum err e = ERR_OK;

	while (!e && tail < head) {
		const struct perf_event_header *h =
			sideband_record_at(data, r->data_size, tail, head, &r->record);

		if (!h) {
			tail = head;
			break;
		}
		tail += h->size;
		e = take(context, h);
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return e;
}

enum err own_rings_read(struct own_rings *r, void *context,
			enum err (*take)(void *context, const struct perf_event_header *h))
{
	vec_for_each (ring, &r->list)
		TRY(read_one(r, ring, context, take));
	return ERR_OK;
}
