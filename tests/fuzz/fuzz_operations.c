/*
 * The operations on profiles, on whatever a pprof file can hold: every one succeeds or says why
 * not, and the laws between them hold. The first byte chooses options.
 */
#include <math.h>
#include <stdlib.h>

#include "format/formats_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool law)
{
	if (!law)
		abort();
}

static bool read_profile(struct str bytes, struct dict *d, struct profile_list *list)
{
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};
	enum err e;

	r.limits.max_samples = 2000;
	r.limits.max_depth = 1000;
	e = pprof_read(bytes, &r);
	notes_release(&r.notes);
	return e == ERR_OK && list->n && list->v[0]->type_count;
}

/* Sums are exact while no value is huge. */
static bool is_modest(const struct profile *p)
{
	for (size_t i = 0; i < p->row_count * p->type_count; i++)
		if (p->values[i] > INT64_C(1) << 40 || p->values[i] < -(INT64_C(1) << 40))
			return false;
	return true;
}

static void table_and_tree(const struct profile *p, uint8_t choice)
{
	struct tree_column column = {p, choice % p->type_count};
	struct tree_options options = {
		.flags = choice & (TREE_LINES | TREE_INVERTED),
		.min_share = choice & 4 ? 0.05 : 0,
		.max_nodes = choice & 8 ? 16 : 0,
	};
	struct top top;
	struct tree tree;
	int64_t flat = 0;

	must(top_build(&column, 1, choice & 1 ? TOP_LINES : 0, &top) == ERR_OK);
	top_sort(&top, p->dict, 0, choice & 2 ? TOP_BY_CUM : TOP_BY_FLAT);
	must(tree_build(&column, 1, &options, &tree) == ERR_OK);
	must(!options.max_nodes || tree.nodes.n <= options.max_nodes);
	for (size_t i = 1; i < tree.nodes.n; i++)
		must(tree.nodes.v[i].parent < i);
	if (is_modest(p)) {
		must(tree.total[0] == top.totals[0]);
		for (size_t i = 0; i < top.n; i++)
			flat += top.rows[i].flat[0];
		for (size_t i = 0; i < p->row_count; i++)
			flat += p->stack[i] ? 0 : profile_values(p, i)[column.type];
		must(flat == top.totals[0]);
	}
	top_release(&top);
	tree_release(&tree);
}

static void filters(const struct profile *p, uint8_t choice)
{
	struct pattern *pattern = NULL;
	struct filter f = {.tag_count = choice & 1};
	struct profile kept = {0};
	struct fault fault = {0};

	must(pattern_new(STR("a|[m-p]"), 0, &pattern, &fault) == ERR_OK);
	f.focus = choice & 2 ? pattern : NULL;
	f.ignore = choice & 4 ? pattern : NULL;
	f.hide = choice & 8 ? pattern : NULL;
	f.show = choice & 16 ? pattern : NULL;
	f.show_from = choice & 32 ? pattern : NULL;
	f.tags[0].key = STR("thread");
	must(profile_filter(p, &f, &kept, NULL, &fault) == ERR_OK);
	must(kept.row_count <= p->row_count);
	table_and_tree(&kept, choice);
	profile_release(&kept);
	if (profile_drop_frames(p, &kept, &fault) == ERR_OK) {
		must(kept.row_count == p->row_count);
		profile_release(&kept);
	} else {
		must(fault.text[0] != 0);
	}
	pattern_free(pattern);
}

static void merge_and_redact(const struct profile *p, uint8_t choice)
{
	struct redact_options redaction = {.paths = choice % 3};
	struct profile twice, hidden;
	struct dict d, e;
	struct merge m;

	must(dict_init(&d, choice & 1 ? p->dict->seed : 7) == ERR_OK);
	must(dict_init(&e, 8) == ERR_OK);
	profile_init(&twice, &d);
	profile_init(&hidden, &e);
	merge_begin(&m, &twice);
	m.sum_gauges = true;
	must(merge_add(&m, p) == ERR_OK && merge_add(&m, p) == ERR_OK);
	must(merge_finish(&m) == ERR_OK);
	must(profile_redact(p, &redaction, &hidden, NULL, NULL) == ERR_OK);
	must(hidden.row_count <= p->row_count);
	for (uint32_t t = 0; t < p->type_count && is_modest(p); t++)
		must(profile_total(&hidden, t) == profile_total(p, t));
	profile_release(&twice);
	profile_release(&hidden);
	dict_release(&d);
	dict_release(&e);
}

static void compare(const struct profile *p, uint8_t choice)
{
	int type = choice % (int)p->type_count;
	struct diff_options options = {.type = {type, type}, .normalise = choice & 1};
	struct profile same = {0};
	struct diff d;

	must(profile_aggregate(p, AGGREGATE_IGNORE_LABELS, &same) == ERR_OK);
	must(diff_build(p, &same, &options, &d) == ERR_OK);
	diff_sort(&d, p->dict, choice & 2);
	for (size_t i = 0; is_modest(p) && i < d.n; i++)
		must(d.rows[i].verdict == DIFF_NOISE || d.rows[i].verdict == DIFF_UNKNOWN);
	must(profile_subtract(&same, p) == ERR_OK);
	diff_release(&d);
	profile_release(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_list list = {0};
	struct dict d;

	if (!size || dict_init(&d, 7) != ERR_OK)
		return 0;
	if (read_profile(str_n(data + 1, size - 1), &d, &list)) {
		table_and_tree(list.v[0], data[0]);
		filters(list.v[0], data[0]);
		merge_and_redact(list.v[0], data[0]);
		compare(list.v[0], data[0]);
	}
	profile_list_release(&list);
	dict_release(&d);
	return 0;
}
