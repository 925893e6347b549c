/*
 * Builds a tree from libyaml's events. The parser reads only one event ahead; the size of the tree
 * is limited here.
 */
#include "config/config_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/file.h"

#define MAX_FILE   ((size_t)1 << 20)
#define MAX_MEMORY ((size_t)64 << 20)
#define MAX_DEPTH  16
#define MAX_KEYS   1000
#define MAX_ITEMS  10000

enum err config_fail(const struct config *c, size_t line, struct fault *fault, const char *format,
		     ...)
{
	char text[320];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return fault_set(fault, ERR_BAD_ARGUMENT, "%.60s line %zu: %s", c->name, line, text);
}

struct tree_reader {
	struct config *c;
	struct fault *fault;
	yaml_parser_t parser;
	yaml_event_t event;
	bool held; /* `event` is filled */
	unsigned depth;
};

static size_t line_of(const struct tree_reader *r)
{
	return r->event.start_mark.line + 1;
}

static enum err next_event(struct tree_reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (r->held)
		yaml_event_delete(&r->event);
	r->held = yaml_parser_parse(&r->parser, &r->event);
	if (r->held)
		return ERR_OK;
	if (p->error == YAML_MEMORY_ERROR)
		return ERR_NO_MEMORY;
	return config_fail(r->c, p->problem_mark.line + 1, r->fault, "not YAML: %s",
			   p->problem ? p->problem : "it cannot be read");
}

static enum err refuse(struct tree_reader *r, const char *what)
{
	return config_fail(r->c, line_of(r), r->fault, "%s are not supported here", what);
}

static bool is_null(const yaml_event_t *e)
{
	struct str text = str_n(e->data.scalar.value, e->data.scalar.length);

	return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!text.n || str_eq(text, STR("~")) || str_eq(text, STR("null")));
}

/* Refuses anchors, aliases and tags. */
static enum err check_event(struct tree_reader *r)
{
	const yaml_event_t *e = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return refuse(r, "aliases (*name)");
	case YAML_SCALAR_EVENT:
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
		break;
	default:
		break;
	}
	if (anchor)
		return refuse(r, "anchors (&name)");
	return tag ? refuse(r, "tags (!name)") : ERR_OK;
}

static enum err new_node(struct tree_reader *r, enum node_kind kind, struct config_node **ret)
{
	struct config_node *node = arena_zalloc(&r->c->arena, 1, sizeof(*node));

	if (!node)
		return ERR_NO_MEMORY;
	node->kind = kind;
	node->line = line_of(r);
	*ret = node;
	return ERR_OK;
}

static enum err read_text(struct tree_reader *r, struct config_node **ret)
{
	struct str text = str_n(r->event.data.scalar.value, r->event.data.scalar.length);

	TRY(new_node(r, NODE_TEXT, ret));
	if (memchr(text.p, 0, text.n))
		return config_fail(r->c, line_of(r), r->fault, "a value has a zero byte in it");
	(*ret)->empty = is_null(&r->event);
	return config_expand(r->c, text, line_of(r), &(*ret)->text, r->fault);
}

static enum err read_node(struct tree_reader *r, struct config_node **ret);

static enum err check_key(struct tree_reader *r, const struct config_node *map, struct str key)
{
	int n = (int)(key.n < 60 ? key.n : 60);

	if (!key.n || memchr(key.p, 0, key.n))
		return config_fail(r->c, line_of(r), r->fault, "a key is empty or not text");
	for (const struct config_node *c = map->first; c; c = c->next)
		if (str_eq(c->key, key))
			return config_fail(r->c, line_of(r), r->fault,
					   "\"%.*s\" is there twice, first in line %zu", n, key.p,
					   c->line);
	return ERR_OK;
}

/* The key before a value; the next event is the value's. */
static enum err read_key(struct tree_reader *r, const struct config_node *map, struct str *ret)
{
	char *copy;

	TRY(check_event(r));
	if (r->event.type != YAML_SCALAR_EVENT)
		return config_fail(r->c, line_of(r), r->fault, "a key must be a word");
	*ret = str_n(r->event.data.scalar.value, r->event.data.scalar.length);
	TRY(check_key(r, map, *ret));
	copy = arena_copy(&r->c->arena, *ret);
	if (!copy)
		return ERR_NO_MEMORY;
	ret->p = copy;
	return next_event(r);
}

static enum err read_children(struct tree_reader *r, struct config_node *node,
			      yaml_event_type_t end)
{
	struct config_node **tail = &node->first;
	size_t most = node->kind == NODE_MAP ? MAX_KEYS : MAX_ITEMS;

	if (++r->depth > MAX_DEPTH)
		return config_fail(r->c, line_of(r), r->fault, "more than %d levels", MAX_DEPTH);
	for (;;) {
		struct str key = {NULL, 0};
		size_t line;

		TRY(next_event(r));
		if (r->event.type == end)
			break;
		line = line_of(r);
		if (node->n == most)
			return config_fail(r->c, line, r->fault, "more than %zu at one place",
					   most);
		if (node->kind == NODE_MAP)
			TRY(read_key(r, node, &key));
		TRY(read_node(r, tail));
		(*tail)->key = key;
		if (key.p)
			(*tail)->line = line;
		tail = &(*tail)->next;
		node->n++;
	}
	r->depth--;
	return ERR_OK;
}

/* The node whose first event was read. */
static enum err read_node(struct tree_reader *r, struct config_node **ret)
{
	TRY(check_event(r));
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		return read_text(r, ret);
	case YAML_SEQUENCE_START_EVENT:
		TRY(new_node(r, NODE_LIST, ret));
		return read_children(r, *ret, YAML_SEQUENCE_END_EVENT);
	case YAML_MAPPING_START_EVENT:
		TRY(new_node(r, NODE_MAP, ret));
		return read_children(r, *ret, YAML_MAPPING_END_EVENT);
	default:
		return config_fail(r->c, line_of(r), r->fault, "something else was expected here");
	}
}

static enum err read_document(struct tree_reader *r)
{
	TRY(next_event(r)); /* the stream begins */
	TRY(next_event(r));
	if (r->event.type == YAML_STREAM_END_EVENT)
		return ERR_OK;
	TRY(next_event(r));
	TRY(read_node(r, &r->c->root));
	TRY(next_event(r));
	TRY(next_event(r));
	if (r->event.type != YAML_STREAM_END_EVENT)
		return config_fail(r->c, line_of(r), r->fault, "a second document begins");
	return ERR_OK;
}

enum err config_tree_read(struct config *c, struct str yaml, struct fault *fault)
{
	struct tree_reader r = {.c = c, .fault = fault};
	enum err e;

	if (yaml.n > MAX_FILE)
		return fault_set(fault, ERR_TOO_LARGE, "%.60s is larger than %zu bytes", c->name,
				 MAX_FILE);
	if (!yaml_parser_initialize(&r.parser))
		return ERR_NO_MEMORY;
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)(yaml.n ? yaml.p : ""),
				     yaml.n);
	e = read_document(&r);
	if (r.held)
		yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return e;
}

enum err config_parse(struct str yaml, const char *name, struct config **ret, struct fault *fault)
{
	struct config *c = mem_zalloc(1, sizeof(*c));
	enum err e;

	if (!c)
		return ERR_NO_MEMORY;
	arena_init(&c->arena, MAX_MEMORY);
	c->name = arena_copy(&c->arena, str_of(name));
	e = c->name ? config_tree_read(c, yaml, fault) : ERR_NO_MEMORY;
	if (e) {
		config_free(c);
		return e;
	}
	*ret = c;
	return ERR_OK;
}

enum err config_open(const char *path, struct config **ret, struct fault *fault)
{
	struct buf text = BUF_INIT(MAX_FILE);
	enum err e = file_read(path, &text, fault);

	if (!e)
		e = config_parse(buf_view(&text), path, ret, fault);
	buf_release(&text);
	return e;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	arena_release(&c->arena);
	mem_free(c);
}
