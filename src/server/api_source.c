/*
 * /api/v1/source: the text of a source file, where the server was given some.
 */
#include "server/api.h"
#include "server/source_files.h"

void api_source(struct request *r)
{
	const struct server_options *o = &r->server->options;
	struct buf text = BUF_INIT(SOURCE_MAX_SIZE + 1);
	struct fault fault = {0};
	enum err error = source_file_read(o->source_roots, o->source_root_count,
					  parameter(r, "file"), &text, &fault);

	if (error == ERR_OK)
		request_reply(r, 200, "text/plain; charset=utf-8", &text);
	else
		request_fail(r, error, &fault);
	buf_release(&text);
}
