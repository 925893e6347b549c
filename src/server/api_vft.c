#include "server/api_vft.h"

#include "server/amounts.h"
#include "server/completeness_ask.h"

#define MAX_ROWS 20000

enum err vft_wanted(struct request *r, bool *ret, struct fault *fault)
{
	struct str format = parameter(r, "format");

	*ret = str_eq(format, STR("vft"));
	if (!format.n || *ret || str_eq(format, STR("json")))
		return ERR_OK;
	return fault_set(fault, ERR_BAD_ARGUMENT, "format is json or vft");
}

void vft_reply(struct request *r, enum err (*answer)(struct inquiry *q, struct buf *out))
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct fault fault = {0};
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, &fault);
	error = answer(&q, &out);
	if (error == ERR_OK)
		error = buf_error(&out);
	inquiry_release(&q);
	if (error == ERR_OK)
		request_reply(r, 200, VFT_TYPE, &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}

static enum err put_answer(struct inquiry *q, const struct vft_answer *a, struct buf *out)
{
	struct jsonout o = jsonout_of(out, false);

	jsonout_object(&o);
	if (q->selected)
		api_head(q, &o, "vestal.vft/1");
	if (a->describe)
		a->describe(a->context, &o);
	if (q->selected)
		TRY(api_completeness(q, &o));
	if (q->selected)
		api_cost(q, &o);
	jsonout_end_object(&o);
	return buf_error(out);
}

/* Of the type that is drawn first. */
static enum err note_broken(const struct profile *p, struct notes *notes)
{
	double share;

	TRY(profile_broken_share(p, 0, &share));
	if (share > 0)
		notes_add(notes, "%.1f%% are in stacks that were cut or could not be walked",
			  100 * share);
	return ERR_OK;
}

enum err vft_write(struct inquiry *q, struct vft_answer *a, struct buf *out)
{
	CLEANUP(buf_release) struct buf about = BUF_INIT((size_t)1 << 20);
	struct arena *arena = &q->request->x->arena;
	struct profile *one = (struct profile *)a->profile;
	struct profile_list list = {.v = &one, .n = 1};
	struct writing w = {.list = &list,
			    .type = a->type,
			    .title = arena_copy(arena, a->title),
			    .baseline = a->baseline,
			    .baseline_title = arena_copy(arena, a->baseline_title),
			    .verdicts = a->diff,
			    .notes = a->notes,
			    .started_ns = q->request->x->started_ns};
	int64_t max_nodes;
	enum err error = w.title && w.baseline_title ? ERR_OK : ERR_NO_MEMORY;

	a->notes = (struct notes){0};
	if (error == ERR_OK)
		error = parameter_int(q->request, "max_nodes", 0, &max_nodes, q->fault);
	if (error == ERR_OK)
		error = inquiry_nodes(q, max_nodes, &w.max_nodes);
	if (error == ERR_OK)
		error = parameter_count(q->request, "max_rows", MAX_ROWS, 1, MAX_ROWS, &w.max_rows,
					q->fault);
	if (error == ERR_OK)
		error = note_broken(a->profile, &w.notes);
	if (error == ERR_OK)
		error = put_answer(q, a, &about);
	w.answer = buf_view(&about);
	if (error == ERR_OK)
		error = vft_encode(&w, out);
	if (error != ERR_OK && w.fault.text[0])
		*q->fault = w.fault;
	notes_release(&w.notes);
	return error;
}

/* ------------------------------------------------------------------ the tree */

static void describe_amount(const void *context, struct jsonout *o)
{
	const struct inquiry *q = context;
	struct amount amount = api_amount(q, profile_total(&q->profile, 0));

	amount_put(o, &amount);
}

static enum err answer_tree_vft(struct inquiry *q, struct buf *out)
{
	struct vft_answer a = {
		.profile = &q->profile, .type = 0, .describe = describe_amount, .context = q};

	TRY(api_select(q));
	TRY(api_merge(q));
	a.title = parameter(q->request, "query");
	return vft_write(q, &a, out);
}

void api_tree_vft(struct request *r)
{
	vft_reply(r, answer_tree_vft);
}
