/*
 * Symbolizes addresses, for tests/e2e/test_symbols.py and bench/symbols:
 *
 *	symbolize [-s|-r] [-c CACHE_DIR] [-d DEBUG_DIR] [-f DEBUG_FILE] [-R ROOT] [-q] FILE
 *
 * Each line of standard input is an address in hexadecimal. The output is its frames, innermost
 * first, as "function\tlinkage\tfile:line:column\tinlined|", and an empty line. -f is a file that
 * is fetched if there is no other; -q prints only totals.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "symbols/symbols.h"

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum err fetch(void *context, const char *build_id, int *ret_fd)
{
	(void)build_id;
	*ret_fd = open(context, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? ERR_NOT_FOUND : ERR_OK;
}

static void print(uint64_t address, const struct symbol_frame *frames, size_t n)
{
	printf("0x%llx\n", (unsigned long long)address);
	for (size_t i = 0; i < n; i++)
		printf("%s\t%s\t%s:%u:%u\t%s\t%u\n", frames[i].function, frames[i].linkage,
		       frames[i].file, frames[i].line, frames[i].column,
		       frames[i].inlined ? "inlined" : "", frames[i].start_line);
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct symbol_frame frames[SYMBOL_FRAMES_MAX];
	const char *directories[2] = {NULL, NULL};
	struct symbol_options options = {0};
	struct symbol_file *file;
	size_t total = 0, named = 0, frame_count = 0;
	struct fault fault = {0};
	bool quiet = false;
	char line[64];
	int option, fd;

	while ((option = getopt(argc, argv, "src:d:f:R:q")) != -1) {
		if (option == 's')
			options.names = SYMBOL_NAMES_SIMPLE;
		else if (option == 'r')
			options.names = SYMBOL_NAMES_RAW;
		else if (option == 'c')
			options.cache_directory = optarg;
		else if (option == 'd')
			directories[0] = optarg;
		else if (option == 'f')
			options.fetch_debug = fetch, options.fetch_context = optarg;
		else if (option == 'R')
			options.root = optarg;
		else if (option == 'q')
			quiet = true;
		else
			return 2;
	}
	if (directories[0])
		options.debug_directories = directories;
	double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

	fd = open(argv[optind], O_RDONLY);
	if (fd < 0 || symbols_guard() ||
	    symbol_file_new(fd, argv[optind], &options, &file, &fault)) {
		fprintf(stderr, "%s: %s\n", argv[optind], fault.text);
		return 1;
	}
	close(fd);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16);
		size_t n;
		enum err error = symbol_file_lookup(file, address, frames, SYMBOL_FRAMES_MAX, &n);

		if (error) {
			fprintf(stderr, "%s\n", err_text(error));
			return 1;
		}
		total++;
		named += n > 0;
		frame_count += n;
		if (!quiet)
			print(address, frames, n);
	}
	double looked = seconds(CLOCK_MONOTONIC), looked_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

	if (symbol_file_save(file, &fault)) {
		fprintf(stderr, "%s\n", fault.text);
		return 1;
	}
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	if (quiet)
		printf("{\"addresses\": %zu, \"named\": %zu, \"frames\": %zu, \"wall_ms\": %.2f, "
		       "\"cpu_ms\": %.2f, \"save_ms\": %.2f, \"rss_mib\": %.1f}\n",
		       total, named, frame_count, (looked - start) * 1e3, (looked_cpu - cpu) * 1e3,
		       (seconds(CLOCK_MONOTONIC) - looked) * 1e3, (double)usage.ru_maxrss / 1024);
	symbol_file_free(file);
	return 0;
}
