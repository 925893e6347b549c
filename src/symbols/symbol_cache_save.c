#include <stdlib.h>

#include "base/file.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbol_cache_file.h"

/* A range of either origin, while both are put in one order. */
struct one {
	struct cached_range range;
	bool from_file;
};

struct writer {
	struct symbol_cache *c;
	VEC(struct one) all;
	struct buf ranges, frames, text;
	struct name_pool texts;	 /* of both origins, so that each is written once */
	VEC(uint32_t) offset_of; /* by id of `texts` - 1 */
	uint32_t range_count, frame_count;
	enum err error;
};

static int by_start(const void *pa, const void *pb)
{
	const struct one *a = pa, *b = pb;

	if (a->range.start != b->range.start)
		return a->range.start < b->range.start ? -1 : 1;
	return (int)a->from_file - (int)b->from_file; /* the newer answer first */
}

static enum err collect(struct writer *w)
{
	vec_for_each (r, &w->c->ranges) {
		struct one o = {*r, false};

		TRY(vec_push(&w->all, o));
	}
	for (size_t i = 0; i < w->c->file_range_count; i++) {
		struct one o = {w->c->file_ranges[i], true};

		TRY(vec_push(&w->all, o));
	}
	qsort(w->all.v, w->all.n, sizeof(*w->all.v), by_start);
	return ERR_OK;
}

static uint32_t put_text(struct writer *w, const char *text)
{
	uint32_t id = 0;

	if (!w->error)
		w->error = name_pool_add(&w->texts, str_of(text), &id);
	if (w->error || !id)
		return 0;
	if (id > w->offset_of.n) {
		w->error = vec_push(&w->offset_of, (uint32_t)w->text.n);
		buf_append(&w->text, text, strlen(text) + 1);
		if (w->error)
			return 0;
	}
	return w->offset_of.v[id - 1];
}

static const char *text_of(const struct writer *w, uint32_t number, bool from_file)
{
	if (!from_file)
		return name_pool_get(&w->c->names, number);
	return number < w->c->file_text.n ? w->c->file_text.p + number : "";
}

static void put_frame(struct writer *w, struct cached_frame f, bool from_file)
{
	f.function = put_text(w, text_of(w, f.function, from_file));
	f.linkage = put_text(w, text_of(w, f.linkage, from_file));
	f.file = put_text(w, text_of(w, f.file, from_file));
	buf_append(&w->frames, &f, sizeof(f));
	w->frame_count++;
}

static void put_ranges(struct writer *w)
{
	uint64_t end = 0;

	vec_for_each (o, &w->all) {
		struct cached_range r = o->range;
		bool inside = !o->from_file || (r.first <= w->c->file_frame_count &&
						r.count <= w->c->file_frame_count - r.first);
		const struct cached_frame *frames =
			o->from_file ? w->c->file_frames : w->c->frames.v;

		if (r.start < end || !inside)
			continue; /* the same answer, found twice */
		end = r.start + r.size;
		for (uint32_t i = 0; i < r.count; i++)
			put_frame(w, frames[r.first + i], o->from_file);
		r.first = w->frame_count - r.count;
		buf_append(&w->ranges, &r, sizeof(r));
		w->range_count++;
	}
}

static enum err write_file(struct writer *w, const char *path, uint64_t key, struct fault *fault)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CACHE_FILE_MAX);
	struct cache_header h = {
		.key = key, .ranges = w->range_count, .frames = w->frame_count, .text = w->text.n};

	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	TRY(buf_error(&w->ranges));
	TRY(buf_error(&w->frames));
	TRY(buf_error(&w->text));
	buf_append(&out, &h, sizeof(h));
	buf_str(&out, buf_view(&w->ranges));
	buf_str(&out, buf_view(&w->frames));
	buf_str(&out, buf_view(&w->text));
	TRY(buf_error(&out));
	h.checksum = cache_checksum(buf_view(&out));
	memcpy(out.data, &h, sizeof(h));
	return file_write(path, buf_view(&out), OUTPUT_FORCE | OUTPUT_NO_SYNC | OUTPUT_PRIVATE,
			  fault);
}

static enum err write_all_answers(struct symbol_cache *c, const char *path, uint64_t key,
				  struct fault *fault)
{
	struct writer w = {.c = c,
			   .ranges = BUF_INIT(CACHE_FILE_MAX),
			   .frames = BUF_INIT(CACHE_FILE_MAX),
			   .text = BUF_INIT(CACHE_FILE_MAX)};
	enum err error;

	name_pool_init(&w.texts, CACHE_FILE_MAX);
	error = collect(&w);
	if (!error) {
		buf_byte(&w.text, 0);
		put_ranges(&w);
		error = w.error;
	}
	if (!error)
		error = write_file(&w, path, key, fault);
	vec_release(&w.all);
	vec_release(&w.offset_of);
	name_pool_release(&w.texts);
	buf_release(&w.ranges);
	buf_release(&w.frames);
	buf_release(&w.text);
	return error;
}

enum err symbol_cache_save(struct symbol_cache *c, const char *path, uint64_t key,
			   struct fault *fault)
{
	enum err error;

	if (!c->ranges.n)
		return ERR_OK;
	if (fault)
		fault->text[0] = 0;
	error = write_all_answers(c, path, key, fault);
	if (error == ERR_TOO_LARGE && c->file_range_count) {
		c->file_range_count = 0; /* full: what is in use now is worth more */
		error = write_all_answers(c, path, key, fault);
	}
	if (error && fault && !fault->text[0])
		return fault_set(fault, error, "%s: %s", path, err_text(error));
	return error;
}
