#include "server/view_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pipeline/pipeline.h"

void view_files_release(struct view_files *f)
{
	profile_release(&f->profile);
	profile_list_release(&f->list);
	notes_release(&f->reading.notes);
	buf_release(&f->plain);
	if (f->ready)
		dict_release(&f->dict);
}

/* From the first begin to the last end: the profiles of one file were taken side by side. Those of
 * several files add up, as they do for `vestal top a b`. */
static void measure(const struct view_files *f, struct view_file *file)
{
	int64_t end = 0, last;

	for (size_t i = 0; i < file->n; i++) {
		const struct profile *p = f->list.v[file->first + i];

		if (p->time_ns > 0 && (!file->time_ns || p->time_ns < file->time_ns))
			file->time_ns = p->time_ns;
		if (!__builtin_add_overflow(p->time_ns, p->duration_ns, &last) && last > end)
			end = last;
		if (p->duration_ns > file->duration_ns)
			file->duration_ns = p->duration_ns;
	}
	if (file->time_ns && end - file->time_ns > file->duration_ns)
		file->duration_ns = end - file->time_ns;
}

static enum err read_file(struct view_files *f, struct str name, struct str bytes,
			  struct fault *fault)
{
	struct view_file *file = &f->files[f->n];
	char prefix[100];
	enum err error;

	if (f->n == VIEW_FILES_MAX)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d files", VIEW_FILES_MAX);
	*file = (struct view_file){.name = name, .first = f->list.n};
	error = format_read(bytes, NULL, &f->reading, &file->format);
	file->n = f->list.n - file->first;
	if (error == ERR_OK && !file->n)
		error = fault_set(&f->reading.fault, ERR_CORRUPT, "the files contain no profile");
	if (error != ERR_OK && f->reading.fault.text[0])
		*fault = f->reading.fault;
	if (error != ERR_OK && name.n && fault->text[0]) {
		snprintf(prefix, sizeof(prefix), "%.*s", (int)(name.n < 90 ? name.n : 90), name.p);
		fault_prefix(fault, prefix);
	}
	if (error != ERR_OK)
		return error;
	measure(f, file);
	f->n++;
	return ERR_OK;
}

static enum err read_form(struct view_files *f, struct str type, struct str body,
			  struct fault *fault)
{
	struct multipart_part part;
	struct multipart m;

	TRY(multipart_init(&m, type, body, fault));
	while (multipart_next(&m, &part))
		if (part.body.n)
			TRY(read_file(f, part.filename.n ? part.filename : part.name, part.body,
				      fault));
	if (m.failed)
		return fault_set(fault, ERR_CORRUPT,
				 "the form ends inside a part, or has more than %d",
				 MULTIPART_MAX_PARTS);
	return f->n ? ERR_OK : fault_set(fault, ERR_CORRUPT, "the form has no file in it");
}

/* By time; files without a time come last. Stable for equal times. */
struct timed {
	const struct profile *profile;
	int64_t time_ns;
	size_t order;
};

static int compare_timed(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static int compare_files(const void *left, const void *right)
{
	const struct view_file *a = left, *b = right;
	int64_t x = a->time_ns ? a->time_ns : INT64_MAX, y = b->time_ns ? b->time_ns : INT64_MAX;

	if (x != y)
		return x < y ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static enum err merge_ordered(struct view_files *f, const struct timed *order)
{
	struct merge merge;
	enum err error = ERR_OK;

	merge_begin(&merge, &f->profile);
	for (size_t i = 0; error == ERR_OK && i < f->list.n; i++)
		error = merge_add(&merge, order[i].profile);
	if (error == ERR_OK)
		error = merge_finish(&merge);
	merge_release(&merge);
	return error;
}

/* The first profile determines the default type. */
static void choose_default(struct view_files *f, const struct profile *first)
{
	struct value_type shown;

	if (!first->type_count)
		return;
	shown = first->types[profile_default_type(first)];
	for (uint32_t i = 0; i < f->profile.type_count; i++)
		if (f->profile.default_type < 0 && f->profile.types[i].type == shown.type &&
		    f->profile.types[i].unit == shown.unit)
			f->profile.default_type = (int)i;
}

static void add_durations(struct view_files *f)
{
	int64_t sum = 0;

	if (f->list.n < 2)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (__builtin_add_overflow(sum, f->files[i].duration_ns, &sum))
			sum = INT64_MAX;
	f->profile.duration_ns = sum;
}

static enum err merge_all(struct view_files *f)
{
	CLEANUP(mem_free_ptr) struct timed *order = mem_zalloc(f->list.n, sizeof(*order));

	if (!order)
		return ERR_NO_MEMORY;
	TRY(profile_list_settle(&f->list));
	for (size_t i = 0; i < f->list.n; i++) {
		const struct profile *p = f->list.v[i];

		order[i] = (struct timed){p, p->time_ns > 0 ? p->time_ns : INT64_MAX, i};
	}
	qsort(order, f->list.n, sizeof(*order), compare_timed);
	qsort(f->files, f->n, sizeof(*f->files), compare_files);
	profile_init(&f->profile, &f->dict);
	TRY(merge_ordered(f, order));
	choose_default(f, order[0].profile);
	add_durations(f);
	return ERR_OK;
}

enum err view_files_read(struct view_files *f, struct request *r, struct fault *fault)
{
	struct str type = http_find(r->x, STR("content-type")), body;

	TRY(request_body(r, &f->plain, &body, fault));
	TRY(dict_init(&f->dict, store_seed(r->server->store)));
	f->ready = true;
	f->reading = (struct reading){
		.dict = &f->dict, .list = &f->list, .limits = LIMITS_DEFAULT, .no_programs = true};
	f->reading.limits.max_bytes = request_max_inflated(r);
	if (multipart_is(type))
		TRY(read_form(f, type, body, fault));
	else
		TRY(read_file(f, (struct str){0}, body, fault));
	return merge_all(f);
}

const char *view_files_format(const struct view_files *f)
{
	for (size_t i = 1; i < f->n; i++)
		if (f->files[i].format != f->files[0].format)
			return "several";
	return f->files[0].format->name;
}

void view_files_describe(const struct view_files *f, struct jsonout *o)
{
	if (!f->files[0].name.n)
		return;
	jsonout_key(o, STR("files"));
	jsonout_array(o);
	for (size_t i = 0; i < f->n; i++) {
		const struct view_file *file = &f->files[i];

		jsonout_object(o);
		jsonout_put_str(o, "name", file->name);
		jsonout_put_text(o, "format", file->format->name);
		if (file->time_ns) {
			jsonout_key(o, STR("time_ns"));
			jsonout_i64_text(o, file->time_ns);
		}
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}
