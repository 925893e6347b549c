/*
 * Firefox Profiler: the file and its threads.
 */
#include "format/firefox.h"

static void fox_release(struct fox *f)
{
	json_release(&f->j);
	vec_release(&f->mappings);
	fox_names_release(&f->names);
	fox_tables_release(&f->all);
}

static void take_cpu_unit(struct fox *f)
{
	struct str key, unit = {NULL, 0};

	if (!json_object(&f->j))
		return;
	while (json_key(&f->j, &key)) {
		if (!str_eq(key, STR("threadCPUDelta"))) {
			json_skip(&f->j);
			continue;
		}
		if (json_string(&f->j, &unit))
			f->cpu = str_eq(unit, STR("ns"))	  ? FOX_CPU_NS
				 : str_eq(unit, STR("\xc2\xb5s")) ? FOX_CPU_US
				 : str_eq(unit, STR("\xce\xbcs")) ? FOX_CPU_US
								  : FOX_CPU_NONE;
	}
}

static void take_meta(struct fox *f)
{
	struct str key;

	if (!f->meta.p)
		return;
	json_seek(&f->j, &f->meta);
	if (!json_object(&f->j))
		return;
	while (json_key(&f->j, &key)) {
		if (str_eq(key, STR("startTime")))
			json_double(&f->j, &f->start);
		else if (str_eq(key, STR("interval")))
			json_double(&f->j, &f->interval);
		else if (str_eq(key, STR("sampleUnits")))
			take_cpu_unit(f);
		else
			json_skip(&f->j);
	}
}

static enum err take_library(struct fox *f)
{
	struct mapping m = {0};
	struct str key, text;
	uint32_t id = 0;

	if (json_object(&f->j))
		while (json_key(&f->j, &key)) {
			uint32_t *to = str_eq(key, STR("path"))		     ? &m.file
				       : str_eq(key, STR("name")) && !m.file ? &m.file
				       : str_eq(key, STR("codeId"))	     ? &m.build_id
									     : NULL;

			text = (struct str){NULL, 0};
			if (!to)
				json_skip(&f->j);
			else if (json_string(&f->j, &text) && text.n)
				TRY(dict_string(f->out->dict, text, to));
		}
	TRY(f->j.error);
	if (m.file || m.build_id)
		TRY(dict_mapping(f->out->dict, &m, &id));
	return vec_push(&f->mappings, id);
}

static enum err take_libraries(struct fox *f)
{
	f->mappings.n = 0;
	if (!f->libs.p)
		return ERR_OK;
	json_seek(&f->j, &f->libs);
	if (json_array(&f->j))
		while (json_item(&f->j))
			TRY(take_library(f));
	return f->j.error;
}

/* A number or a string, as it is written. */
static void take_id(struct json *j, struct str *ret)
{
	const char *from;

	if (json_peek(j) == JSON_STRING) {
		json_string(j, ret);
		return;
	}
	from = j->p;
	json_skip(j);
	if (!j->error)
		*ret = str_n(from, (size_t)(j->p - from));
}

static enum err take_name(struct fox *f, uint32_t *ret)
{
	struct str text = {NULL, 0};

	if (!json_string(&f->j, &text))
		return f->j.error;
	return dict_string(f->out->dict, text, ret);
}

static enum err take_thread(struct fox *f, struct fox_thread *t)
{
	struct str key, id;

	*t = (struct fox_thread){.offset = json_offset(&f->j)};
	if (!json_object(&f->j))
		return f->j.error;
	while (json_key(&f->j, &key)) {
		id = (struct str){NULL, 0};
		if (fox_marks_take(&t->marks, &f->j, key)) {
			continue;
		} else if (str_eq(key, STR("samples"))) {
			json_mark_skip(&f->j, &t->samples);
		} else if (str_eq(key, STR("name"))) {
			TRY(take_name(f, &t->name));
		} else if (str_eq(key, STR("processName"))) {
			TRY(take_name(f, &t->process));
		} else if (str_eq(key, STR("tid")) || str_eq(key, STR("pid"))) {
			take_id(&f->j, &id);
			/* Ids have no escapes; one that does is not worth keeping. */
			if (id.p >= f->j.start && id.p < f->j.end)
				*(key.p[0] == 't' ? &t->tid : &t->pid) = id;
		} else {
			json_skip(&f->j);
		}
	}
	return f->j.error;
}

static enum err read_thread(struct fox *f, const struct fox_thread *t)
{
	struct fox_tables own = {.names = &f->names};
	enum err e;

	if (!t->samples.p)
		return ERR_OK;
	if (!t->marks.stacks.p) {
		if (!f->shared.stacks.p)
			return json_fail_at(&f->j, t->offset, ERR_CORRUPT,
					    "the thread has no \"stackTable\"");
		return fox_samples(f, t, &f->all);
	}
	e = fox_tables_build(&own, &f->j, &t->marks, f->mappings.v, f->mappings.n, f->out);
	if (!e)
		e = fox_samples(f, t, &own);
	fox_tables_release(&own);
	return e;
}

static enum err read_threads(struct fox *f)
{
	struct json_mark behind;
	struct fox_thread t;

	if (!f->threads.p)
		return ERR_OK;
	json_seek(&f->j, &f->threads);
	if (!json_array(&f->j))
		return f->j.error;
	while (json_item(&f->j)) {
		TRY(take_thread(f, &t));
		behind = json_mark(&f->j);
		TRY(read_thread(f, &t));
		json_seek(&f->j, &behind);
	}
	return f->j.error;
}

static void take_shared(struct fox *f)
{
	struct str key;

	if (json_object(&f->j))
		while (json_key(&f->j, &key))
			if (!fox_marks_take(&f->shared, &f->j, key))
				json_skip(&f->j);
}

/* The outermost object, or one of "processes". */
static enum err take_process(struct fox *f)
{
	struct str key;

	f->libs = f->threads = f->meta = f->processes = (struct json_mark){0};
	f->shared = (struct fox_marks){0};
	if (!json_object(&f->j))
		return f->j.error;
	while (json_key(&f->j, &key)) {
		struct json_mark *mark = str_eq(key, STR("meta"))	 ? &f->meta
					 : str_eq(key, STR("libs"))	 ? &f->libs
					 : str_eq(key, STR("threads"))	 ? &f->threads
					 : str_eq(key, STR("processes")) ? &f->processes
									 : NULL;

		if (mark)
			json_mark_skip(&f->j, mark);
		else if (str_eq(key, STR("shared")))
			take_shared(f);
		else
			json_skip(&f->j);
	}
	return f->j.error;
}

/* The tables of all threads are built once: their cost must not multiply by the threads. */
static enum err read_shared(struct fox *f)
{
	struct fox_marks tables = f->shared;

	TRY(fox_names_build(&f->names, &f->j, &f->shared, f->out));
	if (!tables.stacks.p)
		return ERR_OK;
	tables.strings.p = NULL;
	f->all.names = &f->names;
	return fox_tables_build(&f->all, &f->j, &tables, f->mappings.v, f->mappings.n, f->out);
}

static enum err read_process(struct fox *f)
{
	take_meta(f);
	TRY(take_libraries(f));
	TRY(read_shared(f));
	return read_threads(f);
}

/* Gecko lists child processes in the file of the parent, one level deep. */
static enum err read_children(struct fox *f, struct json_mark children)
{
	struct json_mark behind;

	if (!children.p)
		return ERR_OK;
	json_seek(&f->j, &children);
	if (!json_array(&f->j))
		return f->j.error;
	while (json_item(&f->j)) {
		TRY(take_process(f));
		behind = json_mark(&f->j);
		fox_tables_release(&f->all);
		fox_names_release(&f->names);
		TRY(read_process(f));
		json_seek(&f->j, &behind);
	}
	return f->j.error;
}

enum err firefox_read(struct str bytes, struct reading *out)
{
	CLEANUP(fox_release) struct fox f = {.out = out, .interval = 1};
	struct json_mark children;

	out->variant = "Firefox Profiler";
	json_init(&f.j, bytes, "Firefox profile", out->limits.max_nesting, out);
	TRY(take_process(&f));
	TRY(json_finish(&f.j));
	if (!f.threads.p)
		return fault_set(&out->fault, ERR_CORRUPT,
				 "Firefox profile: there is no \"threads\" in the file");
	children = f.processes;
	TRY(read_process(&f));
	TRY(read_children(&f, children));
	json_note_replaced(&f.j, out);
	return f.time || f.bytes ? ERR_OK : fox_time_profile(&f);
}
