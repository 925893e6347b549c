#include "server/keep_path.h"

#include "base/buf.h"

static bool name_is(const struct dict *d, uint32_t frame, struct str name, struct buf *text)
{
	buf_clear(text);
	frame_label(d, frame, text);
	return str_eq(buf_view(text), name);
}

static bool begins_with(const struct dict *d, uint32_t stack, const struct str *path, size_t n,
			struct buf *text)
{
	uint32_t depth;
	const uint32_t *frames = stack_frames(d, stack, &depth);

	if (depth < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!name_is(d, frames[depth - 1 - i], path[i], text))
			return false;
	return true;
}

enum err profile_keep_path(struct profile *p, const struct str *path, size_t n)
{
	struct buf text = BUF_INIT((size_t)1 << 20);
	size_t kept = 0;
	enum err error;

	for (size_t i = 0; i < p->row_count; i++)
		if (begins_with(p->dict, p->stack[i], path, n, &text))
			profile_move_row(p, i, kept++);
	p->row_count = kept;
	error = buf_error(&text);
	buf_release(&text);
	return error;
}
