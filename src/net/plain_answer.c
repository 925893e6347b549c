#include "net/plain_answer.h"

#include <strings.h>

#define HEAD_MAX ((size_t)64 << 10)

void plain_answer_init(struct plain_answer *a, struct buf *body)
{
	*a = (struct plain_answer){.head = BUF_INIT(HEAD_MAX),
				   .body = body,
				   .problem = BUF_INIT(sizeof(((struct fetch_failure *)0)->body))};
}

void plain_answer_release(struct plain_answer *a)
{
	buf_release(&a->head);
	buf_release(&a->problem);
}

static bool is_name(struct str name, const char *wanted)
{
	return name.n == strlen(wanted) && !strncasecmp(name.p, wanted, name.n);
}

static enum err take_header(struct plain_answer *a, struct str line)
{
	size_t colon = str_find(line, ':');
	struct str name = str_n(line.p, colon), value = str_trim(str_skip(line, colon + 1));
	uint64_t seconds;

	if (is_name(name, "content-length")) {
		a->has_length = true;
		return str_to_u64(value, 10, &a->left);
	}
	if (is_name(name, "transfer-encoding")) {
		a->chunked = is_name(value, "chunked");
		return a->chunked ? ERR_OK : ERR_CORRUPT;
	}
	/* A date instead of seconds is not understood: it is tried again as if nothing was said. */
	if (is_name(name, "retry-after") && str_to_u64(value, 10, &seconds) == ERR_OK &&
	    seconds < INT32_MAX)
		a->retry_after = (int64_t)seconds;
	return ERR_OK;
}

static enum err take_head(struct plain_answer *a, struct str head)
{
	struct str line;
	uint64_t status;

	if (!str_split(&head, '\n', &line) || !str_starts(line, STR("HTTP/1.")) || line.n < 12 ||
	    str_to_u64(str_n(line.p + 9, 3), 10, &status) != ERR_OK || status < 100)
		return ERR_CORRUPT;
	a->has_length = a->chunked = false;
	a->left = 0;
	while (str_split(&head, '\n', &line))
		TRY(take_header(a, line));
	/* 100 and the like are followed by the answer itself. */
	a->status = status < 200 ? 0 : (long)status;
	a->complete = status == 204 || status == 304 || (!a->chunked && a->has_length && !a->left);
	return ERR_OK;
}

static enum err keep(struct plain_answer *a, struct str bytes)
{
	size_t room = a->problem.ceiling - a->problem.n;

	if (a->status < 300) {
		buf_str(a->body, bytes);
		return buf_error(a->body);
	}
	buf_append(&a->problem, bytes.p, bytes.n < room ? bytes.n : room);
	return buf_error(&a->problem);
}

static enum err add_chunks(struct plain_answer *a, struct str bytes)
{
	struct http1_refusal refusal;
	struct str piece;

	for (;;) {
		enum http1_progress p = http1_chunks_next(&a->chunks, &bytes, &piece, &refusal);

		if (p == HTTP1_REFUSED)
			return ERR_CORRUPT;
		a->complete = p == HTTP1_DONE;
		if (a->complete || !piece.n)
			return ERR_OK;
		TRY(keep(a, piece));
	}
}

static enum err add_body(struct plain_answer *a, struct str bytes)
{
	if (a->chunked)
		return add_chunks(a, bytes);
	if (a->has_length && bytes.n > a->left)
		bytes.n = (size_t)a->left;
	TRY(keep(a, bytes));
	if (a->has_length) {
		a->left -= bytes.n;
		a->complete = !a->left;
	}
	return ERR_OK;
}

enum err plain_answer_add(struct plain_answer *a, struct str bytes)
{
	if (a->status)
		return a->complete ? ERR_OK : add_body(a, bytes);
	buf_str(&a->head, bytes);
	TRY(buf_error(&a->head));
	while (!a->status) {
		struct str all = buf_view(&a->head);
		size_t end = str_search(all, STR("\r\n\r\n"));
		struct buf rest = BUF_INIT(HEAD_MAX);
		enum err e;

		if (end == all.n)
			return ERR_OK;
		buf_str(&rest, str_skip(all, end + 4));
		e = buf_error(&rest);
		if (!e)
			e = take_head(a, str_n(all.p, end));
		buf_release(&a->head);
		a->head = rest;
		TRY(e);
	}
	return a->complete || !a->head.n ? ERR_OK : add_body(a, buf_view(&a->head));
}

enum err plain_answer_end(struct plain_answer *a)
{
	if (!a->status || a->chunked || a->has_length)
		return a->complete ? ERR_OK : ERR_TRUNCATED;
	a->complete = true;
	return ERR_OK;
}
