#include "sdk/label_sets.h"

#include "base/buf.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/thread.h"

#define SETS_MAX 16384u

/* "key\0value\0key\0value\0" in order of first sight. */
struct set {
	u32 size;
	char text[];
};

static struct mutex lock = MUTEX_INIT;
static struct {
	struct set *sets[SETS_MAX]; /* number 0 stays empty */
	u32 last;		    /* number of the last set */
	struct map index;
} all;

static bool next_label(const struct set *s, u32 *at, struct str *ret_key, struct str *ret_value)
{
	if (!s || *at >= s->size)
		return false;
	*ret_key = str_of(s->text + *at);
	*at += (u32)ret_key->n + 1;
	*ret_value = str_of(s->text + *at);
	*at += (u32)ret_value->n + 1;
	return true;
}

static struct set *set_of(u32 number)
{
	return number < SETS_MAX ? all.sets[number] : NULL;
}

bool label_sets_get(u32 set, u32 n, struct str *ret_key, struct str *ret_value)
{
	u32 at = 0;

	for (u32 i = 0; next_label(set_of(set), &at, ret_key, ret_value); i++)
		if (i == n)
			return true;
	return false;
}

static void put(struct buf *b, struct str key, struct str value)
{
	buf_str(b, key);
	buf_byte(b, 0);
	buf_str(b, value);
	buf_byte(b, 0);
}

static enum err text_with(u32 set, struct str key, struct str value, struct buf *ret,
			  struct fault *fault)
{
	struct str known_key, known_value;
	u32 at = 0, n = 0;
	bool placed = !value.p;

	while (next_label(set_of(set), &at, &known_key, &known_value)) {
		bool same = str_eq(known_key, key);

		if (!same || value.p) {
			put(ret, known_key, same ? value : known_value);
			n++;
		}
		placed = placed || same;
	}
	if (!placed && n == LABELS_OF_THREAD)
		return fault_set(fault, ERR_TOO_LARGE, "a thread has at most %d labels",
				 LABELS_OF_THREAD);
	if (!placed)
		put(ret, key, value);
	return buf_error(ret);
}

static enum err intern(struct str text, u32 *ret, struct fault *fault)
{
	u64 hash = hash_str(text, 0);
	struct set *fresh;

	MAP_PROBE(&all.index, hash, id)
	{
		if (!str_eq(str_n(all.sets[id]->text, all.sets[id]->size), text))
			continue;
		*ret = id;
		return ERR_OK;
	}
	if (all.last == SETS_MAX - 1)
		return fault_set(fault, ERR_TABLE_FULL,
				 "the limit of %u different sets of labels is reached: use labels "
				 "with few values",
				 SETS_MAX);
	fresh = mem_alloc(sizeof(*fresh) + text.n);
	if (!fresh || map_put(&all.index, hash, all.last + 1)) {
		mem_free(fresh);
		return ERR_NO_MEMORY;
	}
	fresh->size = (u32)text.n;
	memcpy(fresh->text, text.p, text.n);
	all.sets[++all.last] = fresh;
	*ret = all.last;
	return ERR_OK;
}

static bool is_text(struct str s, size_t most)
{
	return s.n <= most && utf8_valid(s) && str_find(s, 0) == s.n;
}

enum err label_sets_with(u32 set, struct str key, struct str value, u32 *ret, struct fault *fault)
{
	CLEANUP(buf_release)
	struct buf text = BUF_INIT((LABELS_OF_THREAD + 1) * (LABEL_KEY_MAX + LABEL_VALUE_MAX + 2));
	enum err e;

	if (!key.n || !is_text(key, LABEL_KEY_MAX) || !is_text(value, LABEL_VALUE_MAX))
		return fault_set(
			fault, ERR_BAD_ARGUMENT,
			"a label is a key of 1 to %d bytes and a value of up to %d, in UTF-8",
			LABEL_KEY_MAX, LABEL_VALUE_MAX);
	mutex_lock(&lock);
	e = text_with(set, key, value, &text, fault);
	if (!e && !text.n)
		*ret = 0;
	else if (!e)
		e = intern(buf_view(&text), ret, fault);
	mutex_unlock(&lock);
	return e;
}

void label_sets_before_fork(void)
{
	mutex_lock(&lock);
}

void label_sets_after_fork(void)
{
	mutex_unlock(&lock);
}
