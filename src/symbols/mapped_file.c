#include "symbols/mapped_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/symbols.h"

/* A mapping, for the handler, which may run at any time: only atomics, no locks. */
struct guarded {
	_Atomic uintptr_t start; /* 0 = free, 1 = being filled in */
	_Atomic uintptr_t end;
	atomic_bool torn;
};

#define SLOTS 1024

static struct guarded guarded[SLOTS];
static struct sigaction previous;
static atomic_bool installed;

static struct guarded *guarded_at(uintptr_t address)
{
	for (int i = 0; i < SLOTS; i++) {
		uintptr_t start = atomic_load(&guarded[i].start);

		if (start > 1 && address >= start && address < atomic_load(&guarded[i].end))
			return &guarded[i];
	}
	return NULL;
}

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	int before = errno;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t address = (uintptr_t)info->si_addr;
	struct guarded *g = guarded_at(address);

	(void)context;
	if (g && mmap((void *)(address & ~(page - 1)), page, PROT_READ,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		atomic_store(&g->torn, true);
	else
		sigaction(signal, &previous,
			  NULL); /* not ours: happens again, to whom it belongs */
	errno = before;
}

enum err symbols_guard(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	if (atomic_exchange(&installed, true))
		return ERR_OK;
	return sigaction(SIGBUS, &action, &previous) ? err_from_errno(errno) : ERR_OK;
}

static int guard_add(struct str bytes)
{
	for (int i = 0; i < SLOTS; i++) {
		uintptr_t nothing = 0;

		if (!atomic_compare_exchange_strong(&guarded[i].start, &nothing, 1))
			continue;
		atomic_store(&guarded[i].torn, false);
		atomic_store(&guarded[i].end, (uintptr_t)bytes.p + bytes.n);
		atomic_store(&guarded[i].start, (uintptr_t)bytes.p);
		return i;
	}
	return -1;
}

enum err mapped_file_init(struct mapped_file *m, int fd, const char *path, uint64_t ceiling,
			  struct fault *fault)
{
	struct stat st;
	void *data;

	*m = (struct mapped_file){.slot = -1};
	if (fstat(fd, &st))
		return fault_set(fault, err_from_errno(errno), "%s: %s", path,
				 err_text(err_from_errno(errno)));
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return fault_set(fault, ERR_UNKNOWN_FORMAT, "%s: not a regular file with content",
				 path);
	if ((uint64_t)st.st_size > ceiling)
		return fault_set(fault, ERR_TOO_LARGE, "%s: %lld bytes, the limit is %llu", path,
				 (long long)st.st_size, (unsigned long long)ceiling);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return fault_set(fault, err_from_errno(errno), "%s: it cannot be mapped: %s", path,
				 err_text(err_from_errno(errno)));
	m->bytes = str_n(data, (size_t)st.st_size);
	m->slot = guard_add(m->bytes);
	return ERR_OK;
}

void mapped_file_release(struct mapped_file *m)
{
	if (!m || !m->bytes.p)
		return;
	if (m->slot >= 0)
		atomic_store(&guarded[m->slot].start, 0);
	munmap((void *)(uintptr_t)m->bytes.p, m->bytes.n);
	*m = (struct mapped_file){.slot = -1};
}

bool mapped_file_torn(const struct mapped_file *m)
{
	return m->bytes.p && m->slot >= 0 && atomic_load(&guarded[m->slot].torn);
}

void mapped_file_trim(const struct mapped_file *m)
{
	if (m->bytes.p)
		madvise((void *)(uintptr_t)m->bytes.p, m->bytes.n, MADV_DONTNEED);
}

void symbols_drop_pages(void)
{
	for (int i = 0; i < SLOTS; i++) {
		uintptr_t start = atomic_load(&guarded[i].start);

		if (start > 1)
			madvise((void *)start, atomic_load(&guarded[i].end) - start, MADV_DONTNEED);
	}
}
