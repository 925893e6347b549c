/*
 * /api/v1/view: returns uploaded files for display without storing them, optionally compared with
 * stored data.
 */
#include <stdio.h>

#include "server/amounts.h"
#include "server/api_vft.h"
#include "server/completeness_ask.h"
#include "server/filters.h"
#include "server/view_files.h"

/* Applies the file's own drop_frames, and the filters of the request. */
static enum err narrow(struct view_files *f, struct request *r, struct fault *fault)
{
	struct filters filters;
	struct profile left;
	enum err error = ERR_OK;

	if (f->profile.drop_frames) {
		profile_init(&left, &f->dict);
		error = profile_drop_frames(&f->profile, &left, fault);
		if (error != ERR_OK) {
			profile_release(&left);
			return error == ERR_BAD_ARGUMENT ? ERR_CORRUPT : error;
		}
		profile_release(&f->profile);
		f->profile = left;
	}
	error = filters_read(r, &filters, fault);
	if (error == ERR_OK)
		error = filters_apply(&filters, &f->profile, fault);
	filters_release(&filters);
	return error;
}

static enum err open_file(struct view_files *f, struct request *r, struct fault *fault)
{
	struct late_names late = {0};
	enum err error;

	TRY(view_files_read(f, r, fault));
	error = late_names_apply(r->server->symbols, r->tenant, &f->profile, &r->x->gone, &late);
	late_names_release(&late);
	return error ? error : narrow(f, r, fault);
}

/* The column that `type` means; a five-part id means its sample type. */
static enum err choose_type(const struct view_files *f, struct request *r, int *ret,
			    struct fault *fault)
{
	struct str name = parameter(r, "type"), sample = type_split(name).sample_type;
	const struct profile *p = &f->profile;
	char list[300];
	size_t n = 0;

	if (!p->type_count)
		return fault_set(fault, ERR_CORRUPT, "the file has no sample types");
	*ret = profile_find_type(p, sample.n ? sample : name);
	if (*ret >= 0)
		return ERR_OK;
	for (uint32_t i = 0; i < p->type_count && n < sizeof(list) - 1; i++) {
		struct str type = dict_str(p->dict, p->types[i].type);
		int more = snprintf(list + n, sizeof(list) - n, "%s%.*s", i ? ", " : "",
				    (int)type.n, type.p);

		n += more > 0 ? (size_t)more : 0;
	}
	return fault_set(fault, ERR_NOT_FOUND, "the file has no type \"%.*s\"; it has %s",
			 (int)(name.n < 80 ? name.n : 80), name.p, list);
}

static void describe(const void *context, struct jsonout *o)
{
	const struct view_files *f = context;

	jsonout_put_text(o, "format", view_files_format(f));
	view_files_describe(f, o);
	jsonout_put_array(o, "amounts");
	for (uint32_t i = 0; i < f->profile.type_count; i++) {
		struct amount amount = profile_amount(&f->profile, i);

		jsonout_object(o);
		amount_put(o, &amount);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	/* Beside a baseline that has its own. */
	if (f->compared)
		jsonout_put_object(o, "comparison");
	jsonout_key(o, STR("completeness"));
	completeness_json(o, &f->completeness, &f->quality);
	if (f->compared)
		jsonout_end_object(o);
}

static struct str file_title(struct request *r)
{
	struct str name = parameter(r, "name");

	return name.n ? name : STR("file");
}

/* ------------------------------------------------------------------ against what is stored */

static enum err compare(struct inquiry *q, struct view_files *f, int type, struct buf *out)
{
	struct request *r = q->request;
	struct profile moved;
	struct vft_answer a = {.profile = &moved,
			       .baseline = &q->profile,
			       .title = file_title(r),
			       .baseline_title = parameter(r, "baseline"),
			       .type = type,
			       .describe = describe,
			       .context = f};
	enum err error;

	TRY(profile_move(&f->profile, &q->dict, &moved));
	a.notes = f->reading.notes;
	f->reading.notes = (struct notes){0};
	error = diff_write(q, NULL, &a, out);
	profile_release(&moved);
	return error;
}

static bool same_text(const struct profile *a, uint32_t in_a, const struct profile *b,
		      uint32_t in_b)
{
	return str_eq(dict_str(a->dict, in_a), dict_str(b->dict, in_b));
}

static enum err merge_baseline(struct inquiry *q, const struct view_files *f, int type)
{
	struct request *r = q->request;
	const struct profile *p = &f->profile;
	struct str asked = parameter(r, "type"), own = dict_str(p->dict, p->types[type].type);

	TRY(inquiry_select_asked(q, parameter(r, "baseline"), asked.n ? asked : own, "from",
				 "until"));
	TRY(api_merge(q));
	if (same_text(&q->profile, q->profile.types[0].type, p, p->types[type].type) &&
	    same_text(&q->profile, q->profile.types[0].unit, p, p->types[type].unit))
		return ERR_OK;
	return fault_set(q->fault, ERR_UNSUPPORTED,
			 "the file's %.*s cannot be compared with the baseline's %.*s",
			 (int)(own.n < 80 ? own.n : 80), own.p,
			 (int)(q->selection.type.n < 120 ? q->selection.type.n : 120),
			 q->selection.type.p);
}

static enum err answer_view(struct inquiry *q, struct buf *out)
{
	CLEANUP(view_files_release) struct view_files f = {0};
	struct request *r = q->request;
	struct vft_answer a = {.profile = &f.profile, .describe = describe, .context = &f};
	bool vft;

	TRY(vft_wanted(r, &vft, q->fault));
	if (!vft)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "format is vft here");
	TRY(open_file(&f, r, q->fault));
	TRY(choose_type(&f, r, &a.type, q->fault));
	completeness_of_file(&f.profile, (uint32_t)a.type, &f.completeness);
	TRY(profile_quality(&f.profile, (uint32_t)a.type, &f.quality));
	f.compared = parameter(r, "baseline").n > 0;
	if (f.compared) {
		TRY(merge_baseline(q, &f, a.type));
		return compare(q, &f, a.type, out);
	}
	a.title = file_title(r);
	a.notes = f.reading.notes;
	f.reading.notes = (struct notes){0};
	return vft_write(q, &a, out);
}

void api_view(struct request *r)
{
	vft_reply(r, answer_view);
}
