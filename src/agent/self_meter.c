#include "agent/self_meter.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/worker_host.h"
#include "base/clock.h"

/* A timer's interrupt and the way to the program: an estimate for bare metal, more in a guest. */
#define INTERRUPT_NS 1500
/* "cpu user nice system idle iowait irq softirq steal guest guest_nice" */
#define STAT_FIELDS  8
#define STAT_IDLE    3
#define STAT_IOWAIT  4

static struct str read_begin(const char *path, char *room, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, room, size);

	if (fd >= 0)
		close(fd);
	return str_n(room, n > 0 ? (size_t)n : 0);
}

bool stat_line_read(struct str text, u64 *ret_busy, u64 *ret_all)
{
	struct str line, field;
	u64 busy = 0, all = 0, value;
	unsigned n = 0;

	if (!str_split(&text, '\n', &line) || !str_starts(line, STR("cpu ")))
		return false;
	line = str_trim(str_skip(line, 4));
	while (n < STAT_FIELDS && str_split(&line, ' ', &field)) {
		if (!field.n)
			continue;
		if (str_to_u64(field, 10, &value) != ERR_OK)
			return false;
		all += value;
		busy += n == STAT_IDLE || n == STAT_IOWAIT ? 0 : value;
		n++;
	}
	*ret_busy = busy;
	*ret_all = all;
	return n > STAT_IDLE;
}

u64 self_meter_pss(const struct self_meter *m)
{
	struct kernel_side *k = capture_kernel(m->capture);
	u64 own = process_pss(getpid()), mapped = kernel_mapped_bytes(k);

	return (own > mapped ? own - mapped : 0) + kernel_map_bytes(k) + worker_pss();
}

u64 self_meter_user_ns(void)
{
	struct worker_usage workers;

	worker_usage(&workers);
	return (u64)clock_process_cpu_ns() + workers.cpu_ns;
}

void self_meter_open(struct self_meter *m, struct capture *c)
{
	struct budget_measure first;

	*m = (struct self_meter){.capture = c, .processors = sysconf(_SC_NPROCESSORS_ONLN)};
	self_meter_read(m, &first);
}

/*
 * The shares of the cost caused by waits, and proportional to the rate: the run time of their BPF
 * programs, and of the time that the agent itself spends on records their share of all records.
 * Workers and following processes belong to neither: fewer samples would not make them cheaper.
 */
static void share_out(struct self_meter *m, const struct kernel_counters *c, double user,
		      double all, struct budget_measure *ret)
{
	struct kernel_side *k = capture_kernel(m->capture);
	u64 wait_ns = kernel_wait_time_ns(k), timer_ns = kernel_timer_time_ns(k);
	u64 records = c->waits_kept + c->wakers;
	double waits = (double)(records - m->wait_records);
	double samples = (double)(c->samples - m->samples), both = waits + samples;
	double each = both > 0 ? user / both : 0;

	if (all > 0) {
		ret->wait_part = ((double)(wait_ns - m->wait_ns) + each * waits) / all;
		ret->rate_part =
			((double)(timer_ns - m->timer_ns) + (each + INTERRUPT_NS) * samples) / all;
	}
	m->wait_ns = wait_ns;
	m->timer_ns = timer_ns;
	m->wait_records = records;
}

/* The CPU time of a process that ended since the last measurement is unknown. */
static double more(u64 now, u64 before)
{
	return now > before ? (double)(now - before) : 0;
}

void self_meter_read(struct self_meter *m, struct budget_measure *ret)
{
	char room[512];
	int64_t now = clock_monotonic_ns();
	u64 user = self_meter_user_ns(), busy = m->busy, ticks = m->ticks;
	u64 kernel = kernel_run_time_ns(capture_kernel(m->capture));
	double length = (double)(now - m->time_ns) * (double)m->processors, spent, used, readers;
	double followed;
	struct capture_stats stats;
	struct worker_usage workers;

	capture_stats(m->capture, &stats);
	worker_usage(&workers);
	*ret = (struct budget_measure){
		.memory_bytes = process_own_bytes(getpid()) +
				kernel_map_bytes(capture_kernel(m->capture)) + workers.memory,
		.seconds = (double)(now - m->time_ns) / (double)NS_PER_S};
	if (stat_line_read(read_begin("/proc/stat", room, sizeof(room)), &busy, &ticks) &&
	    ticks > m->ticks)
		ret->host_share = (double)(busy - m->busy) / (double)(ticks - m->ticks);
	m->interrupt_ns += (stats.kernel.samples - m->samples) * INTERRUPT_NS;
	used = more(user, m->user_ns);
	readers = more(workers.cpu_ns, m->worker_ns);
	/* The values were read one after the other. */
	if (readers > used)
		readers = used;
	spent = used + (double)(kernel - m->kernel_ns) +
		(double)(stats.kernel.samples - m->samples) * INTERRUPT_NS;
	if (length > 0) {
		ret->cpu_share = spent / length;
		ret->reader_share = readers / length;
	}
	followed = more(stats.followed_ns, m->followed_ns);
	if (followed > used - readers)
		followed = used - readers;
	m->worker_ns = workers.cpu_ns;
	m->followed_ns = stats.followed_ns;
	share_out(m, &stats.kernel, used - readers - followed, spent, ret);
	m->time_ns = now;
	m->user_ns = user;
	m->kernel_ns = kernel;
	m->samples = stats.kernel.samples;
	m->busy = busy;
	m->ticks = ticks;
}
