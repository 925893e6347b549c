#include "cli/export.h"

static void say_losses(const struct common_options *common, const struct format *format,
		       const struct notes *notes)
{
	vec_for_each (note, &notes->list) {
		if (note->count > 1)
			say(common, "%s: %s (%llu times)", format->name, note->text,
			    (unsigned long long)note->count);
		else
			say(common, "%s: %s", format->name, note->text);
	}
}

static int write_failed(const struct format *format, enum err e, const struct fault *fault)
{
	int status = e == ERR_UNSUPPORTED ? EXIT_UNAVAILABLE : status_of(e);

	return complain(status, "%s: %s", format->name, fault->text[0] ? fault->text : err_text(e));
}

static bool is_packed(struct str bytes)
{
	return str_starts(bytes, STR("\x1f\x8b")) || str_starts(bytes, STR("\x28\xb5\x2f\xfd"));
}

/* Compress formats without compression of their own on request. */
static enum err pack(int how, struct buf *bytes)
{
	struct buf packed = BUF_INIT(bytes->ceiling);
	enum err e;

	if (how <= 0 || is_packed(buf_view(bytes)))
		return ERR_OK;
	e = how == 1 ? compress_gzip(buf_view(bytes), 6, &packed)
		     : compress_zstd(buf_view(bytes), 3, &packed);
	if (!e)
		e = buf_error(&packed);
	if (e) {
		buf_release(&packed);
		return e;
	}
	buf_release(bytes);
	*bytes = packed;
	return ERR_OK;
}

int export_write(const struct common_options *common, const struct sink_options *to,
		 const struct format *format, struct writing *w, size_t *ret_bytes)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 36);
	enum err e = format_write(format, w, &out);

	if (!e)
		e = pack(w->compress, &out);
	int status = e ? write_failed(format, e, &w->fault) : sink_save(to, &out);

	/* Print notes about the file only after it was written. */
	if (status == EXIT_OK)
		say_losses(common, format, &w->notes);
	notes_release(&w->notes);
	if (status == EXIT_OK && ret_bytes)
		*ret_bytes = out.n;
	return status;
}

const struct format *export_format_of(const char *name)
{
	struct str path = str_of(name);
	const struct format *f = format_by_path(path);

	if (!f && str_ends(path, STR(".gz")))
		f = format_by_path(str_n(path.p, path.n - 3));
	if (!f && str_ends(path, STR(".zst")))
		f = format_by_path(str_n(path.p, path.n - 4));
	return f;
}

int export_compression(const char *name)
{
	struct str path = str_of(name);

	return str_ends(path, STR(".gz")) ? 1 : str_ends(path, STR(".zst")) ? 2 : -1;
}

static int unknown_name(const struct invocation *in, const char *word)
{
	const char *names[FORMAT_COUNT_], *near;
	size_t n = 0;

	for (unsigned i = 0; i < FORMAT_COUNT_; i++)
		if (formats[i].write)
			names[n++] = formats[i].name;
	near = nearest_word(str_of(word), names, n);
	if (near)
		return complain_usage(in, "--to %s: no such format (did you mean %s?)", word, near);
	return complain_usage(in, "--to %s: no such format (vestal help formats lists them)", word);
}

int export_format(const struct invocation *in, const char *name, const char *path,
		  const struct format **ret)
{
	const struct format *f = name ? format_by_name(str_of(name)) : export_format_of(path);

	if (!f && name)
		return unknown_name(in, name);
	if (!f)
		return complain_usage(in, "-o %s: no format known for this name: add --to FORMAT",
				      path);
	if (!f->write)
		return complain_usage(in, "%s files can be read but not written", f->name);
	*ret = f;
	return EXIT_OK;
}
