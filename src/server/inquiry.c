#include "server/inquiry.h"

#include <stdio.h>

#include "base/clock.h"
#include "server/completeness_ask.h"

#define DEFAULT_NODES 8192
#define MAX_NODES     1048576

void inquiry_init(struct inquiry *q, struct request *r, struct fault *fault)
{
	*q = (struct inquiry){.request = r, .fault = fault};
	q->ask = (struct ask){.cancelled = &r->x->gone,
			      .max_memory = r->server->options.query_memory,
			      .fault = fault,
			      .damage = r->damage};
}

void inquiry_release(struct inquiry *q)
{
	if (q->built)
		tree_release(&q->tree);
	if (q->merged) {
		profile_release(&q->profile);
		dict_release(&q->dict);
	}
	late_names_release(&q->late);
	if (q->selected)
		selector_release(&q->selector);
	arena_release(&q->types.arena);
}

struct type_parts type_split(struct str id)
{
	struct type_parts p = {0};
	struct str *const parts[] = {&p.name, &p.sample_type, &p.sample_unit, &p.period_type,
				     &p.period_unit};

	for (size_t i = 0; i < 5 && str_split(&id, ':', parts[i]); i++)
		;
	return p;
}

static size_t count_colons(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == ':';
	return n;
}

/* "…:delta" is a suffix of types in Parca. */
static struct str without_delta(struct str id)
{
	return count_colons(id) == 5 ? str_n(id.p, str_rfind(id, ':')) : id;
}

/* The types there are, as far as a sentence holds them. */
static size_t list_types(const struct inquiry *q, char *list, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < q->types.n && n + q->types.v[i].n + 3 < size; i++)
		n += (size_t)snprintf(list + n, size - n, "%s%.*s", i ? ", " : "",
				      (int)q->types.v[i].n, q->types.v[i].p);
	return n;
}

enum err inquiry_nothing(struct inquiry *q)
{
	char from[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	if (!q->selection.from_ns)
		return fault_set(q->fault, ERR_NOT_FOUND, "there is no profile of that kind");
	return fault_set(q->fault, ERR_NOT_FOUND, "there is no profile of that kind from %s to %s",
			 clock_format(q->selection.from_ns, 0, from),
			 clock_format(q->selection.until_ns, 0, until));
}

static enum err no_such_type(struct inquiry *q, struct str name)
{
	char list[300];
	size_t n = list_types(q, list, sizeof(list));

	if (!n)
		return inquiry_nothing(q);
	return fault_set(q->fault, ERR_NOT_FOUND, "there is no type \"%.*s\"; there are: %s",
			 (int)(name.n < 80 ? name.n : 80), name.p, list);
}

static enum err ask_types(struct inquiry *q)
{
	struct selection all = q->selection;

	all.type = (struct str){0};
	return shown_types(q->request, &all, &q->ask, &q->types);
}

/* The stored type that a short name means: the one of the table of types when it is there, else the
 * first whose sample type has that name. */
static enum err find_type(struct inquiry *q, struct str name)
{
	const struct profile_type *known = type_by_name(name);
	struct str want = known ? str_of(known->type) : name;

	TRY(ask_types(q));
	for (size_t i = 0; known && i < q->types.n; i++)
		if (str_eq(q->types.v[i], str_of(known->pyroscope))) {
			q->selection.type = q->types.v[i];
			return ERR_OK;
		}
	for (size_t i = 0; i < q->types.n; i++) {
		struct type_parts parts = type_split(q->types.v[i]);

		if (str_eq(parts.sample_type, want) || str_eq(parts.sample_type, name)) {
			q->selection.type = q->types.v[i];
			return ERR_OK;
		}
	}
	return no_such_type(q, name);
}

static enum err use_type(struct inquiry *q, struct str type)
{
	if (count_colons(type) < 4)
		return type.n ? find_type(q, type) : ERR_OK;
	q->selection.type = without_delta(type);
	return ERR_OK;
}

static enum err select_parsed(struct inquiry *q, const struct str *selectors, size_t n,
			      struct str type, int64_t from_ns, int64_t until_ns)
{
	/* Before 1970 there is nothing; so no difference of times overflows. */
	if (from_ns < 0)
		from_ns = 0;
	if (until_ns <= from_ns)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "the end of the time range must be after its start");
	TRY(selector_parse_all(selectors, n, &q->selector, q->fault));
	q->selected = true;
	q->selection = (struct selection){.matchers = q->selector.matchers.v,
					  .matcher_count = q->selector.matchers.n,
					  .from_ns = from_ns,
					  .until_ns = until_ns};
	return use_type(q, type.n ? type : q->selector.type);
}

enum err inquiry_select(struct inquiry *q, struct str selector, struct str type, int64_t from_ns,
			int64_t until_ns)
{
	return select_parsed(q, &selector, 1, type, from_ns, until_ns);
}

enum err inquiry_select_all(struct inquiry *q, const struct str *selectors, size_t n,
			    int64_t from_ns, int64_t until_ns)
{
	return select_parsed(q, selectors, n, (struct str){0}, from_ns, until_ns);
}

enum err inquiry_select_typed(struct inquiry *q, struct str selector, struct str type,
			      int64_t from_ns, int64_t until_ns)
{
	TRY(inquiry_select(q, selector, (struct str){0}, from_ns, until_ns));
	if (!type.n)
		type = q->selector.type;
	if (count_colons(type) < 4 && !type_by_name(type))
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "\"%.*s\" is no type: it has five parts, such as "
				 "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
				 (int)(type.n < 80 ? type.n : 80), type.n ? type.p : "");
	return use_type(q, type);
}

enum err inquiry_need_type(struct inquiry *q)
{
	const struct profile_type *cpu = type_by_name(STR("cpu"));
	char list[300];

	if (q->selection.type.n)
		return ERR_OK;
	TRY(ask_types(q));
	if (!q->types.n)
		return inquiry_nothing(q);
	if (q->types.n == 1)
		q->selection.type = q->types.v[0];
	for (size_t i = 0; i < q->types.n; i++)
		if (str_eq(q->types.v[i], str_of(cpu->pyroscope)))
			q->selection.type = q->types.v[i];
	if (q->selection.type.n)
		return ERR_OK;
	list_types(q, list, sizeof(list));
	return fault_set(q->fault, ERR_BAD_ARGUMENT, "which type? there are: %s", list);
}

enum err inquiry_merge(struct inquiry *q, const struct str *group_by, size_t group_count)
{
	struct server *s = q->request->server;

	TRY(inquiry_need_type(q));
	TRY(dict_init(&q->dict, store_seed(s->store)));
	profile_init(&q->profile, &q->dict);
	q->merged = true;
	TRY(store_merge(s->store, q->request->tenant, &q->selection, group_by, group_count, &q->ask,
			&q->profile));
	q->covered_ns = q->ask.covered_ns;
	TRY(late_names_apply(s->symbols, q->request->tenant, &q->profile, q->ask.cancelled,
			     &q->late));
	/* Nothing found is a profile of that type without rows. */
	struct type_parts parts = type_split(q->selection.type);

	return q->profile.type_count
		       ? ERR_OK
		       : profile_add_type(&q->profile, parts.sample_type, parts.sample_unit);
}

enum err inquiry_name(struct inquiry *q)
{
	if (q->merged || !symbol_sources_serves(q->request->server->symbols, q->request->tenant))
		return ERR_OK;
	return inquiry_merge(q, NULL, 0);
}

void inquiry_limit_times(struct inquiry *q, const struct time_span *times, size_t n)
{
	q->selection.times = times;
	q->selection.time_count = n;
}

enum err inquiry_nodes(const struct inquiry *q, int64_t max_nodes, uint32_t *ret)
{
	if (max_nodes < 0 || max_nodes > MAX_NODES)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "max_nodes must be 0 to %d",
				 MAX_NODES);
	*ret = max_nodes > 1 ? (uint32_t)max_nodes : max_nodes ? 2 : DEFAULT_NODES;
	return ERR_OK;
}

enum err inquiry_tree(struct inquiry *q, int64_t max_nodes)
{
	struct tree_column column = {&q->profile, 0};
	struct tree_options options = {0};

	TRY(inquiry_nodes(q, max_nodes, &options.max_nodes));
	if (!q->merged)
		TRY(inquiry_merge(q, NULL, 0));
	TRY(tree_build(&column, 1, &options, &q->tree));
	q->built = true;
	return ERR_OK;
}

enum err profile_move(const struct profile *p, struct dict *to, struct profile *ret)
{
	struct merge merge;
	enum err error;

	profile_init(ret, to);
	merge_begin(&merge, ret);
	error = merge_add(&merge, p);
	if (error == ERR_OK)
		error = merge_finish(&merge);
	merge_release(&merge);
	if (error != ERR_OK)
		profile_release(ret);
	return error;
}

enum err inquiry_diff_tree(struct inquiry *left, struct inquiry *right, int64_t max_nodes,
			   struct tree *ret)
{
	struct tree_options options = {0};
	struct profile moved;
	enum err error;

	TRY(inquiry_nodes(left, max_nodes, &options.max_nodes));
	if (!left->merged)
		TRY(inquiry_merge(left, NULL, 0));
	if (!right->merged)
		TRY(inquiry_merge(right, NULL, 0));
	TRY(profile_move(&right->profile, &left->dict, &moved));
	struct tree_column columns[2] = {{&left->profile, 0}, {&moved, 0}};

	error = tree_build(columns, 2, &options, ret);
	profile_release(&moved);
	return error;
}
