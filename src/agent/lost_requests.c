#include "agent/lost_requests.h"

#include "format/format.h"
#include "model/model.h"

#define GZIP_LEVEL 1
/* A week of windows of a minute. */
#define COUNT_MAX  10000
#define BYTES_MAX  ((size_t)2 << 20)
#define NOTE_MAX   ((size_t)1 << 20)

void lost_requests_release(struct lost_requests *l)
{
	vec_for_each (one, &l->list)
		buf_release(one);
	vec_release(&l->list);
}

/* The profiles of completeness of a request, with what they kept as lost. */
static enum err keep_completeness(const struct profile_list *all, const char *cause,
				  struct rejected_part *part, struct buf *ret)
{
	VEC(struct profile *) kept = {0};
	struct buf plain = BUF_INIT(NOTE_MAX);
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < all->n; i++) {
		if (!profile_is_completeness(all->v[i]))
			continue;
		e = completeness_lose(all->v[i], cause, part);
		if (!e && all->v[i]->row_count)
			e = vec_push(&kept, all->v[i]);
	}
	if (!e && !kept.n)
		e = ERR_NOT_FOUND;
	if (!e) {
		struct profile_list list = {.v = kept.v, .n = kept.n};
		struct writing w = {.list = &list, .type = -1, .compress = 0};

		e = format_write(&formats[FORMAT_OTLP], &w, &plain);
		notes_release(&w.notes);
	}
	if (!e)
		e = compress_gzip(buf_view(&plain), GZIP_LEVEL, ret);
	buf_release(&plain);
	vec_release(&kept);
	return e;
}

/* OTLP has a profile for each sample type. */
static uint64_t count_profiles(const struct profile_list *all)
{
	uint64_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->v[i]->type_count;
	return n;
}

static enum err note_of(struct str bytes, const char *cause, uint64_t rejected, struct buf *ret,
			int64_t *ret_samples)
{
	struct rejected_part part = {.rejected = rejected};
	struct profile_list all = {0};
	struct dict d;
	struct reading r = {.dict = &d, .list = &all, .limits = LIMITS_DEFAULT};
	enum err e;

	TRY(dict_init(&d, 0));
	e = format_read(bytes, &formats[FORMAT_OTLP], &r, NULL);
	part.of = count_profiles(&all);
	if (!e)
		e = keep_completeness(&all, cause, &part, ret);
	*ret_samples = part.lost.count;
	notes_release(&r.notes);
	profile_list_release(&all);
	dict_release(&d);
	return e;
}

uint64_t lost_requests_add(struct lost_requests *l, struct str bytes, const char *cause,
			   uint64_t rejected)
{
	int64_t samples = 0;
	struct buf note = BUF_INIT(NOTE_MAX), oldest;

	if (note_of(bytes, cause, rejected, &note, &samples) != ERR_OK ||
	    vec_push(&l->list, note) != ERR_OK) {
		buf_release(&note);
		l->forgotten++;
		return (uint64_t)samples;
	}
	l->bytes += note.n;
	while ((l->list.n > COUNT_MAX || l->bytes > BYTES_MAX) && lost_requests_take(l, &oldest)) {
		buf_release(&oldest);
		l->forgotten++;
	}
	return (uint64_t)samples;
}

bool lost_requests_take(struct lost_requests *l, struct buf *ret)
{
	if (!l->list.n)
		return false;
	*ret = l->list.v[0];
	memmove(l->list.v, l->list.v + 1, --l->list.n * sizeof(*ret));
	l->bytes -= ret->n;
	return true;
}

void lost_requests_put_back(struct lost_requests *l, struct buf *bytes)
{
	if (vec_push(&l->list, *bytes) != ERR_OK) {
		buf_release(bytes);
		l->forgotten++;
		return;
	}
	memmove(l->list.v + 1, l->list.v, (l->list.n - 1) * sizeof(*bytes));
	l->list.v[0] = *bytes;
	l->bytes += bytes->n;
}
