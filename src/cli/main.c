/*
 * The way into one of the commands.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "cli/term.h"

static void on_signal(int number)
{
	output_abort_all();
	term_abort();
	_exit(128 + number);
}

/* SIGPIPE keeps its default: `vestal top … | head` ends as quietly as any other program. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_signal}, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* The commands and reports of pprof, and what does their work here. */
static const char *from_pprof(const char *word)
{
	static const char *const words[][2] = {
		{"text", "vestal top"},
		{"list", "vestal top --lines --focus RE"},
		{"peek", "vestal top --cum --focus RE"},
		{"web", "vestal flame"},
		{"svg", "vestal flame -o FILE.svg"},
		{"http", "vestal flame"},
		{"tree", "vestal flame"},
		{"proto", "vestal convert -o FILE.pb.gz"},
		{"traces", "vestal convert --to folded -o -"},
		{"raw", "vestal show"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i][0]) == 0)
			return words[i][1];
	return NULL;
}

static int unknown_command(const char *word)
{
	const char *names[32], *near;
	size_t n = 0;

	if (from_pprof(word))
		return complain(EXIT_USAGE, "%s is not a command (here it is %s)", word,
				from_pprof(word));

	for (; commands[n] && n < 32; n++)
		names[n] = commands[n]->name;
	near = nearest_word(str_of(word), names, n);
	if (near)
		return complain(EXIT_USAGE, "%s is not a command (did you mean vestal %s?)", word,
				near);
	if (access(word, F_OK) == 0)
		return complain(EXIT_USAGE, "%s is not a command (did you mean vestal top %s?)",
				word, word);
	return complain(EXIT_USAGE, "%s is not a command (vestal help lists them)", word);
}

static int print_help(const struct command *c, const struct common_options *o)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	help_print(c, &text, term_color(STDOUT_FILENO, o->color));
	return sink_stdout(&text);
}

static int run_command(const struct command *c, int argc, char **argv)
{
	struct invocation in = {.command = c, .options = mem_zalloc(1, c->options_size)};
	struct fault fault = {0};
	enum err e;
	int status;

	if (!in.options)
		return complain(EXIT_OS, "out of memory");
	if (c->defaults)
		c->defaults(in.options);
	e = options_parse(c->groups, in.options, argc, argv, &in.arguments, &fault);
	if (e == ERR_NO_MEMORY)
		status = complain(EXIT_OS, "out of memory");
	else if (e)
		status = complain_usage(&in, "%s", fault.text);
	else if (((struct common_options *)in.options)->help)
		status = print_help(c, in.options);
	else
		status = c->run(&in);
	options_release(c->groups, in.options);
	vec_release(&in.arguments);
	mem_free(in.options);
	return status;
}

/* vestal --help, vestal --version, and vestal alone. */
static int run_without_command(int argc, char **argv)
{
	if (argc < 2) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

		help_overview(&text, term_color(STDERR_FILENO, NULL));
		if (text.n && write_all(STDERR_FILENO, text.data, text.n))
			return EXIT_IO;
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return run_command(&command_help, argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return run_command(&command_version, argc - 2, argv + 2);
	return complain(EXIT_USAGE,
			"%s comes after the command: vestal COMMAND [options] (see vestal help)",
			argv[1]);
}

int main(int argc, char **argv)
{
	const struct command *c;

	catch_signals();
	if (argc < 2 || argv[1][0] == '-')
		return run_without_command(argc, argv);
	c = command_find(str_of(argv[1]));
	if (!c)
		return unknown_command(argv[1]);
	return run_command(c, argc - 2, argv + 2);
}
