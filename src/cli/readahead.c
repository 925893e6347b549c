#include "cli/readahead.h"

#include <sys/stat.h>

#include "base/file.h"

#define FEW_NAMES  4
#define KEPT_BYTES ((size_t)64 << 20) /* freed by one file, for the next */
#define MAX_FILE   ((off_t)8 << 20)

static bool worth_reading(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MAX_FILE;
}

void readahead_slot_release(struct readahead_slot *slot)
{
	prepared_release(&slot->prepared);
	buf_release(&slot->plain);
}

static void fill(const struct readahead *r, const char *name, struct readahead_slot *slot)
{
	struct buf packed = BUF_INIT(r->target.max_bytes);
	struct limits limits = LIMITS_DEFAULT;

	*slot = (struct readahead_slot){.filled = true};
	limits.max_bytes = r->target.max_bytes;
	if (!worth_reading(name))
		return;
	if (file_read(name, &packed, NULL) ||
	    decompress(buf_view(&packed), &limits, &slot->plain, &slot->compression, NULL)) {
		buf_release(&packed);
		return;
	}
	slot->good = true;
	slot->file_bytes = packed.n;
	if (strcmp(slot->compression, "none") == 0)
		slot->plain = packed;
	else
		buf_release(&packed);
	format_prepare(buf_view(&slot->plain), r->target.format, r->target.dict, &limits,
		       &slot->prepared);
}

static bool may_claim(const struct readahead *r)
{
	return r->next_claim < r->names->n && r->next_claim < r->next_take + READAHEAD_SLOTS;
}

/* Reads one file. The lock is held before and after, not while. */
static void claim_and_fill(struct readahead *r)
{
	size_t index = r->next_claim++;
	struct readahead_slot slot;

	mutex_unlock(&r->lock);
	fill(r, r->names->v[index], &slot);
	mutex_lock(&r->lock);
	r->slots[index % READAHEAD_SLOTS] = slot;
	cond_broadcast(&r->changed);
}

static void work(void *context)
{
	struct readahead *r = context;

	thread_leave_cpu(r->taker_cpu);
	mutex_lock(&r->lock);
	while (!r->stop && r->next_claim < r->names->n) {
		if (may_claim(r))
			claim_and_fill(r);
		else
			cond_wait(&r->changed, &r->lock);
	}
	mutex_unlock(&r->lock);
}

void readahead_start(struct readahead *r, const struct text_list *names, size_t first,
		     struct readahead_target target)
{
	*r = (struct readahead){.names = names,
				.target = target,
				.next_claim = first,
				.next_take = first,
				.taker_cpu = thread_cpu()};
	mutex_init(&r->lock);
	cond_init(&r->changed);
	if (names->n - first >= FEW_NAMES)
		mem_keep(KEPT_BYTES);
	/* Without a second thread everything still works, only slower. */
	if (names->n - first < FEW_NAMES || thread_cpus() < 2 ||
	    thread_start(&r->worker, "readahead", work, r))
		r->stop = true;
}

bool readahead_take(struct readahead *r, size_t index, struct readahead_slot *ret)
{
	struct readahead_slot *slot = &r->slots[index % READAHEAD_SLOTS];

	if (r->stop)
		return false;
	mutex_lock(&r->lock);
	while (!slot->filled) {
		if (may_claim(r))
			claim_and_fill(r);
		else
			cond_wait(&r->changed, &r->lock);
	}
	*ret = *slot;
	*slot = (struct readahead_slot){0};
	r->next_take = index + 1;
	cond_broadcast(&r->changed);
	mutex_unlock(&r->lock);
	return ret->good;
}

void readahead_stop(struct readahead *r)
{
	mutex_lock(&r->lock);
	r->stop = true;
	cond_broadcast(&r->changed);
	mutex_unlock(&r->lock);
	thread_join(&r->worker);
	for (size_t i = 0; i < READAHEAD_SLOTS; i++)
		readahead_slot_release(&r->slots[i]);
	cond_release(&r->changed);
	mutex_release(&r->lock);
}
