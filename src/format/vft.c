#include "format/vft.h"

#include "base/clock.h"
#include "base/jsonout.h"

#define MAX_NODES   250000
#define REPORT_ROWS 5000 /* default limit of table rows in a file */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "VFT columns are copied as they are");

/* Strings of the answer, each once. */
struct string_set {
	struct buf bytes;
	VEC(uint32_t) offsets; /* where each begins; the end is where the next begins */
	struct map index;
	const struct dict *hasher;
};

static struct str set_string(const struct string_set *s, uint32_t i)
{
	size_t end = i + 1 < s->offsets.n ? s->offsets.v[i + 1] : s->bytes.n;

	return str_n(s->bytes.data + s->offsets.v[i], end - s->offsets.v[i]);
}

static enum err set_add(struct string_set *s, struct str text, uint32_t *ret)
{
	uint64_t hash = content_string(s->hasher, text);

	MAP_PROBE(&s->index, hash, i)
	{
		if (str_eq(set_string(s, i), text)) {
			*ret = i;
			return ERR_OK;
		}
	}
	TRY(map_put(&s->index, hash, (uint32_t)s->offsets.n));
	TRY(vec_push(&s->offsets, (uint32_t)s->bytes.n));
	*ret = (uint32_t)s->offsets.n - 1;
	buf_str(&s->bytes, text);
	return buf_error(&s->bytes);
}

struct vft_frame {
	uint32_t name, module, file, line, kind;
};

struct vft_encoder {
	struct writing *in;
	const struct dict *d;
	struct picture picture;
	struct string_set strings;
	VEC(struct vft_frame) frames;
	uint32_t *frame_number; /* by dictionary frame: index + 1 */
	uint32_t *node_frame;
	size_t functions; /* before the table was cut */
	struct buf scratch;
	struct buf *out;
};

static enum err add_frame(struct vft_encoder *e, uint32_t frame, uint32_t *ret)
{
	struct vft_frame f = {0};
	int64_t line = e->d->frames.v[frame].line;

	if (e->frame_number[frame]) {
		*ret = e->frame_number[frame] - 1;
		return ERR_OK;
	}
	buf_clear(&e->scratch);
	frame_label(e->d, frame, &e->scratch);
	TRY(buf_error(&e->scratch));
	TRY(set_add(&e->strings, buf_view(&e->scratch), &f.name));
	TRY(set_add(&e->strings, frame_module(e->d, frame), &f.module));
	TRY(set_add(&e->strings, frame_file(e->d, frame), &f.file));
	TRY(set_add(&e->strings, dict_str(e->d, e->d->frames.v[frame].kind), &f.kind));
	f.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	TRY(vec_push(&e->frames, f));
	*ret = (uint32_t)e->frames.n - 1;
	e->frame_number[frame] = *ret + 1;
	return ERR_OK;
}

static enum err add_pruned(struct vft_encoder *e, uint32_t dropped, uint32_t *ret)
{
	struct vft_frame f = {0};

	buf_clear(&e->scratch);
	buf_printf(&e->scratch, "%u smaller", dropped);
	TRY(buf_error(&e->scratch));
	TRY(set_add(&e->strings, buf_view(&e->scratch), &f.name));
	TRY(set_add(&e->strings, STR("pruned"), &f.kind));
	TRY(vec_push(&e->frames, f));
	*ret = (uint32_t)e->frames.n - 1;
	return ERR_OK;
}

static enum err number_frames(struct vft_encoder *e)
{
	const struct tree *t = &e->picture.tree;
	struct vft_frame root = {0};
	uint32_t empty;

	TRY(set_add(&e->strings, STR(""), &empty));
	TRY(set_add(&e->strings, STR("all"), &root.name));
	TRY(vec_push(&e->frames, root));
	e->node_frame[0] = 0;
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];

		TRY(n->frame == TREE_PRUNED ? add_pruned(e, n->dropped, &e->node_frame[i])
					    : add_frame(e, n->frame, &e->node_frame[i]));
	}
	return ERR_OK;
}

static void pad(struct buf *b, size_t start)
{
	while ((b->n - start) % 8 && !b->error)
		buf_byte(b, 0);
}

static void put_u32(struct buf *b, uint32_t v)
{
	buf_append(b, &v, 4);
}

/* Negative values (of a subtracted profile) cannot be drawn: they are left out, with a note on the
 * page. */
static void note_negative_values(struct vft_encoder *e)
{
	const struct tree *t = &e->picture.tree;

	for (size_t i = 0; i < t->nodes.n * e->picture.column_count; i++) {
		if (t->self[i] < 0) {
			notes_add(&e->in->notes, "negative values are not drawn");
			return;
		}
	}
}

static void put_value(struct vft_encoder *e, double v)
{
	v = v > 0 ? v : 0;
	buf_append(e->out, &v, 8);
}

static double normalising_scale(const struct picture *p, uint32_t column)
{
	double before = (double)p->top.totals[column & ~1u],
	       after = (double)p->top.totals[column | 1];

	return column & 1 || before <= 0 ? 1 : after / before;
}

static void put_meta_columns(const struct vft_encoder *e, struct jsonout *o)
{
	const struct picture *p = &e->picture;

	jsonout_put_array(o, "totals");
	for (uint32_t c = 0; c < p->column_count; c++)
		jsonout_double(o, (double)p->top.totals[c]);
	jsonout_end_array(o);
	jsonout_put_array(o, "scale");
	for (uint32_t c = 0; c < p->column_count; c++)
		jsonout_double(o, e->in->baseline ? normalising_scale(p, c) : 1);
	jsonout_end_array(o);
}

static void put_meta_types(const struct vft_encoder *e, struct jsonout *o)
{
	const struct profile *p = e->in->list->v[0];
	uint32_t step = e->in->baseline ? 2 : 1, shown = 0;
	int wanted = e->in->type >= 0 ? e->in->type : profile_default_type(p);

	jsonout_put_array(o, "types");
	for (uint32_t c = step - 1; c < e->picture.column_count; c += step) {
		const struct value_type *t = &p->types[e->picture.columns[c].type];

		if ((int)e->picture.columns[c].type == wanted)
			shown = c / step;
		jsonout_object(o);
		jsonout_put_str(o, "name", dict_str(e->d, t->type));
		jsonout_put_str(o, "unit", dict_str(e->d, t->unit));
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_put_u64(o, "default_type", shown);
}

static void put_time(struct jsonout *o, const char *key, int64_t ns)
{
	if (ns <= 0)
		return;
	jsonout_key(o, str_of(key));
	jsonout_i64_text(o, ns);
}

static void put_meta(const struct vft_encoder *e, struct buf *out)
{
	const struct profile *p = e->in->list->v[0];
	const struct tree *t = &e->picture.tree;
	struct jsonout o = jsonout_of(out, false);

	jsonout_object(&o);
	jsonout_put_text(&o, "title", e->in->title ? e->in->title : "profile");
	jsonout_put_text(&o, "generator", "vestal " VESTAL_VERSION);
	put_meta_types(e, &o);
	jsonout_put_bool(&o, "diff", e->in->baseline);
	if (e->in->baseline) {
		jsonout_put_array(&o, "names");
		jsonout_text(&o, e->in->baseline_title ? e->in->baseline_title : "before");
		jsonout_text(&o, e->in->title ? e->in->title : "after");
		jsonout_end_array(&o);
	}
	put_meta_columns(e, &o);
	put_time(&o, "time_ns", p->time_ns);
	put_time(&o, "duration_ns", p->duration_ns);
	jsonout_put_u64(&o, "nodes_total", t->nodes.n);
	jsonout_put_u64(&o, "nodes_pruned", t->pruned_nodes);
	jsonout_put_double(&o, "pruned_share", t->pruned_share);
	jsonout_put_u64(&o, "functions_total", e->functions);
	if (e->in->started_ns)
		jsonout_put_double(&o, "took_ms",
				   (double)(clock_monotonic_ns() - e->in->started_ns) / 1e6);
	if (e->in->answer.n) {
		jsonout_key(&o, STR("answer"));
		jsonout_raw(&o, e->in->answer);
	}
	jsonout_put_array(&o, "notes");
	for (size_t i = 0; i < e->in->notes.list.n; i++)
		jsonout_text(&o, e->in->notes.list.v[i].text);
	jsonout_end_array(&o);
	jsonout_end_object(&o);
}

static void put_nodes(struct vft_encoder *e, size_t start)
{
	const struct tree *t = &e->picture.tree;

	for (size_t i = 0; i < t->nodes.n; i++)
		put_u32(e->out, t->nodes.v[i].parent);
	pad(e->out, start);
	buf_append(e->out, e->node_frame, t->nodes.n * 4);
	pad(e->out, start);
	for (size_t i = 0; i < t->nodes.n * e->picture.column_count; i++)
		put_value(e, (double)t->self[i]);
}

static void put_frames(struct vft_encoder *e, size_t start)
{
	static const size_t offset[] = {offsetof(struct vft_frame, name),
					offsetof(struct vft_frame, module),
					offsetof(struct vft_frame, file),
					offsetof(struct vft_frame, line),
					offsetof(struct vft_frame, kind)};

	for (size_t k = 0; k < sizeof(offset) / sizeof(offset[0]); k++) {
		vec_for_each (f, &e->frames)
			buf_append(e->out, (const char *)f + offset[k], 4);
		pad(e->out, start);
	}
}

/* The largest by total, which those with the largest own values are among; in order of their own.
 */
static void choose_rows(struct vft_encoder *e)
{
	struct top *t = &e->picture.top;
	uint32_t column = picture_shown_column(e->in, &e->picture);
	size_t most = e->in->max_rows ? e->in->max_rows : REPORT_ROWS;

	e->functions = t->n;
	/* Of a diff those that were large on one side. */
	if (e->in->baseline)
		top_keep(t, column & ~1u, 2, most);
	else
		top_keep(t, column, 1, most);
	top_sort(t, e->d, column, TOP_BY_FLAT);
}

static enum err put_table(struct vft_encoder *e, size_t start)
{
	const struct top *t = &e->picture.top;
	size_t rows = t->n;
	uint32_t frame;

	for (size_t i = 0; i < rows; i++) {
		TRY(add_frame(e, t->rows[i].frame, &frame));
		put_u32(e->out, frame);
	}
	pad(e->out, start);
	for (uint32_t c = 0; c < t->columns; c++)
		for (size_t i = 0; i < rows; i++)
			put_value(e, (double)t->rows[i].flat[c]);
	for (uint32_t c = 0; c < t->columns; c++)
		for (size_t i = 0; i < rows; i++)
			put_value(e, (double)t->rows[i].cum[c]);
	return ERR_OK;
}

static void put_strings(struct vft_encoder *e, size_t start)
{
	buf_append(e->out, e->strings.offsets.v, e->strings.offsets.n * 4);
	put_u32(e->out, (uint32_t)e->strings.bytes.n);
	pad(e->out, start);
	buf_str(e->out, buf_view(&e->strings.bytes));
}

/* One row of the verdicts for each of the table; both name a function by the same frame. */
static enum err put_verdicts(struct vft_encoder *e, size_t start)
{
	const struct diff *diff = e->in->verdicts;
	const struct top *t = &e->picture.top;
	static const struct diff_row none = {.p_value = 1, .verdict = DIFF_UNKNOWN};
	CLEANUP(mem_free_ptr) const struct diff_row **row = mem_zalloc(t->n + 1, sizeof(*row));
	CLEANUP(mem_free_ptr)
	uint32_t *number = mem_zalloc(e->d->frames.n, sizeof(*number)); /* by frame: index + 1 */

	if (!row || !number)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < diff->n; i++)
		number[diff->rows[i].frame] = (uint32_t)i + 1;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t at = number[t->rows[i].frame];

		row[i] = at ? &diff->rows[at - 1] : &none;
		put_u32(e->out, row[i]->verdict);
	}
	pad(e->out, start);
	for (size_t i = 0; i < t->n; i++)
		buf_append(e->out, &row[i]->p_value, 8);
	for (size_t i = 0; i < t->n; i++)
		buf_append(e->out, &(double){row[i]->share_change / 100}, 8);
	for (size_t i = 0; i < t->n; i++)
		buf_append(e->out, &(double){row[i]->error / 100}, 8);
	return ERR_OK;
}

static enum err encode_sections(struct vft_encoder *e)
{
	size_t start = e->out->n;
	const struct top *top = &e->picture.top;
	CLEANUP(buf_release) struct buf meta = BUF_INIT((size_t)16 << 20);

	TRY(number_frames(e));
	choose_rows(e);
	/* Frames of the table are numbered before the frame section is written. */
	for (size_t i = 0; i < top->n; i++) {
		uint32_t frame;

		TRY(add_frame(e, top->rows[i].frame, &frame));
	}
	note_negative_values(e);
	put_meta(e, &meta);
	TRY(buf_error(&meta));
	buf_text(e->out, "VFT1");
	put_u32(e->out, (uint32_t)meta.n);
	buf_str(e->out, buf_view(&meta));
	pad(e->out, start);
	put_u32(e->out, (uint32_t)e->picture.tree.nodes.n);
	put_u32(e->out, (uint32_t)e->frames.n);
	put_u32(e->out, (uint32_t)e->strings.offsets.n);
	put_u32(e->out, (uint32_t)top->n);
	put_u32(e->out, e->picture.column_count);
	put_u32(e->out, (uint32_t)e->strings.bytes.n);
	put_u32(e->out, e->in->verdicts ? 1 : 0);
	put_u32(e->out, 0);
	put_nodes(e, start);
	put_frames(e, start);
	TRY(put_table(e, start));
	put_strings(e, start);
	if (e->in->verdicts) {
		pad(e->out, start);
		TRY(put_verdicts(e, start));
	}
	return buf_error(e->out);
}

enum err vft_encode(struct writing *in, struct buf *out)
{
	struct vft_encoder e = {.in = in, .d = in->list->v[0]->dict, .out = out};
	enum err error;

	TRY(picture_build(in, in->max_nodes ? in->max_nodes : MAX_NODES, &e.picture));
	e.strings.bytes = BUF_INIT((size_t)1 << 30);
	e.strings.hasher = e.d;
	e.scratch = BUF_INIT((size_t)64 << 20);
	e.frame_number = mem_zalloc(e.d->frames.n, sizeof(*e.frame_number));
	e.node_frame = mem_alloc(e.picture.tree.nodes.n * sizeof(*e.node_frame));
	error = e.frame_number && e.node_frame ? encode_sections(&e) : ERR_NO_MEMORY;
	mem_free(e.frame_number);
	mem_free(e.node_frame);
	buf_release(&e.scratch);
	buf_release(&e.strings.bytes);
	vec_release(&e.strings.offsets);
	map_release(&e.strings.index);
	vec_release(&e.frames);
	picture_release(&e.picture);
	return error;
}
