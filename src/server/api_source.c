/*
 * /api/v1/source: the text of a source file, below the directories the server was given, else from
 * the debuginfod servers that may have it.
 */
#include "server/api.h"
#include "server/source_files.h"
#include "server/symbol_sources.h"

/* debuginfod has the sources of the build, identified by the program's build id. */
static enum err ask_debuginfod(struct request *r, struct buf *text, struct fault *fault)
{
	struct debuginfod *d = symbol_sources_debuginfod(r->server->symbols);
	struct str build_id = parameter(r, "build_id");
	const char *id = arena_copy(&r->x->arena, build_id);
	enum err error;

	if (!d || !build_id.n)
		return ERR_NOT_FOUND;
	if (!id)
		return ERR_NO_MEMORY;
	if (!build_id_valid(build_id))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "build_id is a program's, in lower case hexadecimal");
	error = debuginfod_source(d, id, parameter(r, "file"), text, NULL);
	if (!error && (!text->n || memchr(text->data, 0, text->n)))
		return fault_set(fault, ERR_UNSUPPORTED, "the file is not text");
	if (error == ERR_NOT_FOUND || error == ERR_BAD_ARGUMENT)
		return fault_set(fault, ERR_NOT_FOUND,
				 "neither a --source-root of this server nor debuginfod has that "
				 "file");
	if (error)
		return fault_set(fault, error, "debuginfod does not answer with that file: %s",
				 err_text(error));
	return ERR_OK;
}

void api_source(struct request *r)
{
	const struct server_options *o = &r->server->options;
	struct buf text = BUF_INIT(SOURCE_MAX_SIZE + 1);
	struct fault fault = {0}, other = {0};
	enum err error = source_file_read(o->source_roots, o->source_root_count,
					  parameter(r, "file"), &text, &fault);

	if (error == ERR_NOT_FOUND) {
		error = ask_debuginfod(r, &text, &other);
		if (other.text[0])
			fault = other;
	}
	if (error == ERR_OK)
		request_reply(r, 200, "text/plain; charset=utf-8", &text);
	else
		request_fail(r, error, &fault);
	buf_release(&text);
}
