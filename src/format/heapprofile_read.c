/*
 * V8's sampling heap profile (.heapprofile: Chrome, node --heap-prof).
 *
 *	{"head": {"callFrame": {…}, "selfSize": bytes, "id": 1, "children": [node …]},
 *	 "samples": [{"size": bytes, "nodeId": 1, "ordinal": 7} …]}
 *
 * selfSize is what the node's functions allocated and what is still alive, scaled up from the
 * samples by V8. "samples" has an entry per sampled object: their number is a lower bound of the
 * objects, as the file does not say how many each stands for. Older files have no "samples".
 */
#include "format/formats_internal.h"
#include "format/v8_nodes.h"

enum { VALUE_OBJECTS, VALUE_BYTES };

struct heapprofile {
	struct json j;
	struct v8_nodes nodes;
	struct stack_nodes stacks;
	struct json_mark samples;
	uint64_t strays;
};

static void heapprofile_release(struct heapprofile *h)
{
	json_release(&h->j);
	v8_nodes_release(&h->nodes);
	stack_nodes_release(&h->stacks);
}

static void take_top_level(struct heapprofile *h, struct reading *out)
{
	struct json *j = &h->j;
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("head"))) {
			h->nodes.list.n = 0;
			v8_nodes_nested(&h->nodes, j, out);
		} else if (str_eq(key, STR("samples"))) {
			json_mark_skip(j, &h->samples);
		} else {
			json_skip(j);
		}
	}
}

static void take_sample(struct heapprofile *h)
{
	struct json *j = &h->j;
	int64_t id = 0;
	uint32_t node;
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("nodeId")))
			json_i64(j, &id);
		else
			json_skip(j);
	}
	node = v8_nodes_find(&h->nodes, id);
	/* V8 leaves out nodes whose objects were collected while it wrote, but not the samples. */
	if (node == MAP_NONE)
		h->strays++;
	else
		stack_nodes_count(&h->stacks, node + 1, VALUE_OBJECTS, 1);
}

static void count_bytes(struct heapprofile *h, struct reading *out)
{
	unsigned column = h->samples.p ? VALUE_BYTES : 0;

	for (uint32_t i = 0; i < h->nodes.list.n; i++) {
		int64_t size = h->nodes.list.v[i].self_size;

		if (size)
			stack_nodes_count(&h->stacks, i + 1, column, size);
		if (size < 0)
			notes_add(&out->notes, "a node has a negative selfSize");
	}
}

enum err heapprofile_read(struct str bytes, struct reading *out)
{
	CLEANUP(heapprofile_release) struct heapprofile h = {0};
	struct profile *p;

	/* A node is nested two levels deeper than its parent. */
	json_init(&h.j, bytes, "heapprofile", out->limits.max_depth * 2 + 16, out);
	TRY(stack_nodes_init(&h.stacks, out->dict->seed));
	take_top_level(&h, out);
	TRY(json_finish(&h.j));
	if (!h.nodes.list.n)
		return fault_set(&out->fault, ERR_CORRUPT,
				 "heapprofile: there is no \"head\" in the file");
	TRY(v8_nodes_link(&h.nodes, &h.j, out, &h.stacks));
	if (h.samples.p) {
		json_seek(&h.j, &h.samples);
		if (json_array(&h.j))
			while (json_item(&h.j))
				take_sample(&h);
	}
	if (h.j.error)
		return h.j.error;
	if (h.strays)
		notes_add(&out->notes, "samples whose node is not in the file: %llu, left out",
			  (unsigned long long)h.strays);
	count_bytes(&h, out);
	json_note_replaced(&h.j, out);
	TRY(profile_list_add(out->list, out->dict, &p));
	if (h.samples.p)
		TRY(profile_add_type(p, STR("inuse_objects"), STR("count")));
	TRY(profile_add_type(p, STR("inuse_space"), STR("bytes")));
	return stack_nodes_rows(&h.stacks, p, 0, out);
}
