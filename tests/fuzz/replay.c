/*
 * Runs a fuzz target over the files and folders it is given, once each, and speaks TAP: kept
 * finds stay fixed, and the target is exercised where there is no libFuzzer.
 *
 * Every input is also tried cut short at a few places, which costs little and finds most
 * over-reads. The name of an input is printed before it runs, so that a crash shows which it was.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int inputs;

static void run_exact(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size: ASan sees the first byte read behind it. */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_file(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		printf("# %s cannot be opened\n", path);
		exit(1);
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	printf("# %s\n", path);
	for (size_t eighth = 1; eighth <= 8; eighth++)
		run_exact(data, size * eighth / 8);
	if (size)
		run_exact(data, size - 1);
	inputs++;
}

static int skip_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_path(const char *path)
{
	struct dirent **names;
	struct stat st;
	char below[4096];
	int n;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	n = scandir(path, &names, skip_hidden, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
		run_path(below);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("ok 1 - target survives the empty input and %d kept inputs\n1..1\n", inputs);
	return 0;
}
