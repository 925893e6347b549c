#include "cli/readahead.h"

#include <sys/stat.h>

#include "base/file.h"

#define FEW_NAMES 4
#define MAX_FILE  ((off_t)8 << 20)

static bool worth_reading(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MAX_FILE;
}

static void fill(const struct readahead *r, const char *name, struct readahead_slot *slot)
{
	struct buf packed = BUF_INIT(r->max_bytes);
	struct limits limits = LIMITS_DEFAULT;

	*slot = (struct readahead_slot){.filled = true};
	limits.max_bytes = r->max_bytes;
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
}

static void work(void *context)
{
	struct readahead *r = context;
	struct readahead_slot slot;

	mutex_lock(&r->lock);
	while (!r->stop && r->next_claim < r->names->n) {
		size_t index = r->next_claim;

		if (index >= r->next_take + READAHEAD_SLOTS) {
			cond_wait(&r->changed, &r->lock);
			continue;
		}
		r->next_claim++;
		mutex_unlock(&r->lock);
		fill(r, r->names->v[index], &slot);
		mutex_lock(&r->lock);
		r->slots[index % READAHEAD_SLOTS] = slot;
		cond_broadcast(&r->changed);
	}
	mutex_unlock(&r->lock);
}

void readahead_start(struct readahead *r, const struct text_list *names, size_t first,
		     size_t max_bytes)
{
	*r = (struct readahead){
		.names = names, .max_bytes = max_bytes, .next_claim = first, .next_take = first};
	mutex_init(&r->lock);
	cond_init(&r->changed);
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
	if (index == r->next_claim) {
		/* Instead of waiting for the other thread, help it. */
		*ret = (struct readahead_slot){0};
		r->next_claim++;
	} else {
		while (!slot->filled)
			cond_wait(&r->changed, &r->lock);
		*ret = *slot;
		*slot = (struct readahead_slot){0};
	}
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
		buf_release(&r->slots[i].plain);
	cond_release(&r->changed);
	mutex_release(&r->lock);
}
