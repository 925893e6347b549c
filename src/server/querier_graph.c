/*
 * Pyroscope's querier service, the calls that answer with a flame graph, a tree or a pprof profile.
 */
#include <string.h>

#include "server/call_graph.h"
#include "server/exemplars.h"
#include "server/keep_path.h"
#include "server/pgo_stacks.h"
#include "server/pprof_json.h"
#include "server/querier.h"

enum {
	FORMAT_GRAPH_DEFAULT,
	FORMAT_GRAPH_LEVELS,
	FORMAT_GRAPH_TREE,
	FORMAT_GRAPH_DOT,
	FORMAT_GRAPH_PPROF
};

/* ------------------------------------------------------------------ what is asked */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'			? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: -1;
}

static bool read_hex(struct str text, uint8_t *out, size_t bytes)
{
	if (text.n != 2 * bytes)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		int high = hex_digit(text.p[2 * i]), low = hex_digit(text.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Spans of 16 hex digits, traces of 32; not both at once. */
static enum err select_links(struct inquiry *q, const struct list *spans, const struct list *traces,
			     struct arena *scope)
{
	size_t n = spans->n ? spans->n : traces->n;
	struct link *links;

	if (spans->n && traces->n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "select by spans or by traces, not by both");
	if (!n)
		return ERR_OK;
	links = arena_zalloc(scope, n, sizeof(*links));
	if (!links)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct str id =
			spans->n ? ((struct str *)spans->v)[i] : ((struct str *)traces->v)[i];
		bool good = spans->n ? read_hex(id, links[i].span_id, 8)
				     : read_hex(id, links[i].trace_id, 16);

		if (!good)
			return fault_set(q->fault, ERR_BAD_ARGUMENT,
					 "\"%.*s\" is no id: a span has 16 hex digits, a trace 32",
					 (int)(id.n < 60 ? id.n : 60), id.p);
	}
	q->selection.links = links;
	q->selection.link_count = n;
	return ERR_OK;
}

static enum err select_profiles(struct inquiry *q, const struct list *texts, struct arena *scope)
{
	uint64_t *ids = arena_zalloc(scope, texts->n ? texts->n : 1, sizeof(*ids));

	if (!ids)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < texts->n; i++) {
		struct str id = ((struct str *)texts->v)[i];

		if (!profile_id_read(id, &ids[i]))
			return fault_set(q->fault, ERR_BAD_ARGUMENT,
					 "\"%.*s\" is no id of a profile: that is a UUID",
					 (int)(id.n < 60 ? id.n : 60), id.p);
	}
	q->selection.profiles = ids;
	q->selection.profile_count = texts->n;
	return ERR_OK;
}

static enum err select_stacks(struct inquiry *q, const struct stacktraces_request *request,
			      struct arena *scope)
{
	TRY(check_list(&request->span_ids, "spanSelector", MAX_LINKS, q->fault));
	TRY(check_list(&request->trace_ids, "traceIdSelector", MAX_LINKS, q->fault));
	TRY(check_list(&request->profile_ids, "profileIdSelector", MAX_LINKS, q->fault));
	if (request->stacks)
		TRY(check_list(&request->stacks->call_site, "callSite", MAX_STACK_FRAMES,
			       q->fault));
	TRY(inquiry_select_values(q, request->type, request->selector, request->start,
				  request->end));
	TRY(select_profiles(q, &request->profile_ids, scope));
	return select_links(q, &request->span_ids, &request->trace_ids, scope);
}

/* Only what is below a path of functions, root first: everything else goes. */
static enum err apply_call_site(struct inquiry *q, const struct stack_selector *stacks)
{
	if (!stacks || !stacks->call_site.n)
		return ERR_OK;
	/* A call site is a message of one text: a list of them is a list of texts. */
	_Static_assert(sizeof(struct call_site) == sizeof(struct str), "call sites are texts");
	return profile_keep_path(&q->profile, stacks->call_site.v, stacks->call_site.n);
}

static enum err merge_stacks(struct inquiry *q, const struct stacktraces_request *request)
{
	TRY(inquiry_merge(q, NULL, 0));
	return apply_call_site(q, request->stacks);
}

/* ------------------------------------------------------------------ answers */

static enum err fill_levels(const struct flamebearer *f, struct arena *scope, struct list *names,
			    struct list *levels)
{
	struct str *name = list_make(names, f->name_count, sizeof(*name), scope);
	struct level_message *level = list_make(levels, f->levels, sizeof(*level), scope);

	if (!name || !level)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < f->name_count; i++)
		TRY(copy_str(scope, f->names[i], &name[i]));
	for (size_t i = 0; i < f->levels; i++) {
		size_t n = f->begin[i + 1] - f->begin[i];
		int64_t *values = list_make(&level[i].values, n, sizeof(*values), scope);

		if (!values)
			return ERR_NO_MEMORY;
		memcpy(values, f->values + f->begin[i], n * sizeof(*values));
	}
	return ERR_OK;
}

/* Without data there is no graph at all: an empty one breaks Grafana. */
static enum err fill_graph(struct inquiry *q, struct arena *scope, struct flamegraph_message **ret)
{
	struct flamebearer f;
	enum err error;

	if (!q->built || q->tree.nodes.n < 2)
		return ERR_OK;
	*ret = arena_zalloc(scope, 1, sizeof(**ret));
	if (!*ret)
		return ERR_NO_MEMORY;
	TRY(flamebearer_build(&q->tree, &f));
	(*ret)->total = f.total;
	(*ret)->max_self = f.max_self;
	error = fill_levels(&f, scope, &(*ret)->names, &(*ret)->levels);
	flamebearer_release(&f);
	return error;
}

static enum err fill_tree(struct inquiry *q, struct arena *scope, struct str *ret)
{
	struct buf bytes = BUF_INIT(q->ask.max_memory);
	enum err error = q->built ? flame_tree_bytes(&q->tree, &bytes) : ERR_OK;

	if (error == ERR_OK)
		error = copy_str(scope, buf_view(&bytes), ret);
	buf_release(&bytes);
	return error;
}

static enum err write_format(struct inquiry *q, enum format_id id, struct buf *out)
{
	struct profile *one = &q->profile;
	struct profile_list list = {.v = &one, .n = 1};
	struct writing w = {.list = &list, .type = -1, .compress = 0};
	enum err error = format_write(&formats[id], &w, out);

	notes_release(&w.notes);
	return error;
}

static enum err write_json(struct inquiry *q, struct buf *out)
{
	struct buf bytes = BUF_INIT(q->ask.max_memory);
	enum err error = write_format(q, FORMAT_PPROF, &bytes);

	if (error == ERR_OK)
		error = pprof_to_json(buf_view(&bytes), out);
	buf_release(&bytes);
	return error;
}

/* In the encoding of the call, optionally reduced for the Go compiler. */
static enum err write_pprof(struct inquiry *q, const struct stacktraces_request *request,
			    struct buf *out)
{
	const struct rpc_call *c = q->request->call;
	const struct go_pgo *pgo = request->stacks ? request->stacks->go_pgo : NULL;

	if (pgo)
		TRY(profile_keep_callees(&q->profile, (uint64_t)pgo->keep_locations,
					 pgo->aggregate_callees));
	return c->json ? write_json(q, out) : write_format(q, FORMAT_PPROF, out);
}

static enum err fill_pprof(struct inquiry *q, const struct stacktraces_request *request,
			   struct arena *scope, struct pprof_message **ret)
{
	struct buf bytes = BUF_INIT(q->ask.max_memory);
	enum err error;

	*ret = arena_zalloc(scope, 1, sizeof(**ret));
	if (!*ret)
		return ERR_NO_MEMORY;
	error = write_pprof(q, request, &bytes);
	if (error == ERR_OK)
		error = copy_str(scope, buf_view(&bytes), &(*ret)->profile);
	buf_release(&bytes);
	return error;
}

static enum err fill_dot(struct inquiry *q, struct arena *scope, struct str *ret)
{
	struct buf text = BUF_INIT(q->ask.max_memory);
	enum err error = q->built ? call_graph_dot(&q->tree, CALL_GRAPH_NODES, &text) : ERR_OK;

	if (error == ERR_OK)
		error = copy_str(scope, buf_view(&text), ret);
	buf_release(&text);
	return error;
}

static enum err answer(struct inquiry *q, const struct stacktraces_request *request,
		       struct arena *scope, struct stacktraces_reply *reply)
{
	TRY(merge_stacks(q, request));
	if (request->format == FORMAT_GRAPH_PPROF)
		return fill_pprof(q, request, scope, &reply->pprof);
	TRY(inquiry_tree(q, request->max_nodes));
	if (request->format == FORMAT_GRAPH_TREE)
		return fill_tree(q, scope, &reply->tree);
	if (request->format == FORMAT_GRAPH_DOT)
		return fill_dot(q, scope, &reply->dot);
	return fill_graph(q, scope, &reply->flamegraph);
}

static enum err call_stacktraces(struct request *r, const void *in, void *out, struct arena *scope,
				 struct fault *fault)
{
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, fault);
	error = select_stacks(&q, in, scope);
	if (error == ERR_OK)
		error = answer(&q, in, scope, out);
	inquiry_release(&q);
	return error;
}

/* Deprecated but what Grafana asks: the same with the spans in another field. */
static enum err call_spans(struct request *r, const void *in, void *out, struct arena *scope,
			   struct fault *fault)
{
	const struct span_request *request = in;
	struct stacktraces_request same = {.type = request->type,
					   .selector = request->selector,
					   .start = request->start,
					   .end = request->end,
					   .max_nodes = request->max_nodes,
					   .format = request->format,
					   .span_ids = request->spans};

	return call_stacktraces(r, &same, out, scope, fault);
}

/* ------------------------------------------------------------------ two at once */

static enum err fill_diff(const struct tree *tree, struct arena *scope, struct diff_reply *reply)
{
	struct diff_graph_message *graph = arena_zalloc(scope, 1, sizeof(*graph));
	struct flamebearer f;
	enum err error;

	if (!graph)
		return ERR_NO_MEMORY;
	TRY(flamebearer_build(tree, &f));
	graph->total = f.total;
	graph->max_self = f.max_self;
	graph->left_ticks = f.left_total;
	graph->right_ticks = f.right_total;
	error = fill_levels(&f, scope, &graph->names, &graph->levels);
	flamebearer_release(&f);
	reply->flamegraph = graph;
	return error;
}

static enum err call_diff(struct request *r, const void *in, void *out, struct arena *scope,
			  struct fault *fault)
{
	const struct diff_request *request = in;
	struct inquiry left, right;
	struct tree tree = {0};
	enum err error;

	if (!request->left || !request->right)
		return fault_set(fault, ERR_BAD_ARGUMENT, "a difference needs left and right");
	inquiry_init(&left, r, fault);
	inquiry_init(&right, r, fault);
	error = select_stacks(&left, request->left, scope);
	if (error == ERR_OK)
		error = select_stacks(&right, request->right, scope);
	if (error == ERR_OK && !str_eq(left.selection.type, right.selection.type))
		error = fault_set(fault, ERR_BAD_ARGUMENT, "left and right have different types");
	if (error == ERR_OK)
		error = merge_stacks(&left, request->left);
	if (error == ERR_OK)
		error = merge_stacks(&right, request->right);
	if (error == ERR_OK)
		error = inquiry_diff_tree(&left, &right, request->left->max_nodes, &tree);
	if (error == ERR_OK)
		error = fill_diff(&tree, scope, out);
	tree_release(&tree);
	inquiry_release(&right);
	inquiry_release(&left);
	return error;
}

/* ------------------------------------------------------------------ a bare profile */

/* The reply of this call is a pprof profile itself, not a message around it. */
void handle_merge_profile(struct request *r)
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct rpc_call *c = rpc_route_read(r);
	struct stacktraces_request request;
	struct fault fault = {0};
	struct arena scope;
	struct inquiry q;
	enum err error;

	if (!c)
		return;
	arena_init(&scope, r->server->options.query_memory);
	inquiry_init(&q, r, &fault);
	error = message_read(&merge_profile_request_table, c->message, c->json, &scope, &request,
			     &fault);
	if (error == ERR_OK)
		error = select_stacks(&q, &request, &scope);
	if (error == ERR_OK)
		error = merge_stacks(&q, &request);
	if (error == ERR_OK)
		error = write_pprof(&q, &request, &out);
	inquiry_release(&q);
	arena_release(&scope);
	if (error == ERR_OK)
		rpc_reply(c, &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}

const struct rpc_method method_merge_stacktraces = {&stacktraces_request_table,
						    &stacktraces_reply_table, call_stacktraces},
			method_merge_spans = {&span_request_table, &stacktraces_reply_table,
					      call_spans},
			method_diff = {&diff_request_table, &diff_reply_table, call_diff};
