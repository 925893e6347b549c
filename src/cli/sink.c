#include "cli/sink.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/term.h"

const struct option sink_table[] = {
	{"output", 'o', OPT_TEXT, "FILE", "write to FILE; - is stdout",
	 AT(struct sink_options, path), NULL},
	{"force", 'f', OPT_FLAG, NULL, "overwrite an existing FILE", AT(struct sink_options, force),
	 NULL},
	{0},
};

static bool is_stdout(const struct sink_options *o)
{
	return strcmp(o->path, "-") == 0;
}

static bool is_terminal(const char *path)
{
	struct stat out, file;

	/* -o /dev/stdout, -o /dev/tty */
	if (stat(path, &file) != 0 || !S_ISCHR(file.st_mode))
		return false;
	if (strcmp(path, "/dev/tty") == 0)
		return true;
	return term_is(STDOUT_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
	       out.st_rdev == file.st_rdev;
}

int sink_check(const struct sink_options *o, bool binary, const char *what)
{
	struct stat st;

	if (binary && (is_stdout(o) ? term_is(STDOUT_FILENO) : is_terminal(o->path)))
		return complain(EXIT_USAGE,
				"%s is binary and stdout is a terminal: use -o FILE or a pipe",
				what);
	if (is_stdout(o))
		return EXIT_OK;
	if (stat(o->path, &st) != 0)
		return EXIT_OK; /* output_open says what is wrong with the folder */
	if (S_ISDIR(st.st_mode))
		return complain(EXIT_NO_OUTPUT, "%s: is a directory", o->path);
	if (S_ISREG(st.st_mode) && !o->force)
		return complain(EXIT_NO_OUTPUT, "%s: exists already (-f overwrites it)", o->path);
	return EXIT_OK;
}

static int failed(enum err e, const struct fault *fault)
{
	return complain(e == ERR_NO_SPACE || e == ERR_IO ? EXIT_IO : EXIT_NO_OUTPUT, "%s",
			fault->text[0] ? fault->text : err_text(e));
}

int sink_save(const struct sink_options *o, const struct buf *bytes)
{
	struct fault fault = {0};
	enum err e;

	if (is_stdout(o))
		return sink_stdout(bytes);
	e = file_write(o->path, buf_view(bytes), (o->force ? OUTPUT_FORCE : 0) | OUTPUT_NO_SYNC,
		       &fault);
	return e ? failed(e, &fault) : EXIT_OK;
}

int sink_stdout(const struct buf *bytes)
{
	enum err e = buf_error(bytes);

	if (e)
		return complain(status_of(e), "%s", err_text(e));
	e = write_all(STDOUT_FILENO, bytes->data, bytes->n);
	if (e)
		return complain(EXIT_IO, "stdout: %s", err_text(e));
	return EXIT_OK;
}
