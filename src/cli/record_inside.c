#include "cli/record_inside.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"

#define LIBRARY	       "libvestal-preload.so"
#define NOT_FOUND_EXIT 127
#define PATH_SIZE      4096
/* Program headers and the loader's name lie at the front. */
#define LOADER_BYTES   8192

/* Beside the program (where it was built) or in ../lib (where it was installed). */
static int find_library(char *ret, size_t size)
{
	char own[PATH_SIZE];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	size_t folder = n > 0 ? str_rfind(str_n(own, (size_t)n), '/') : 0;

	for (int i = 0; n > 0 && i < 2; i++) {
		int made = snprintf(ret, size, "%.*s/%s" LIBRARY, (int)folder, own,
				    i ? "../lib/" : "");

		if (made > 0 && (size_t)made < size && access(ret, R_OK) == 0)
			return EXIT_OK;
	}
	return complain(EXIT_NO_INPUT, "%s is neither beside vestal nor in ../lib", LIBRARY);
}

/* As execvp() looks for it; false when it is not found, which that says better. */
static bool find_program(const char *name, char *ret, size_t size)
{
	struct str path = str_of(getenv("PATH")), folder;

	if (strchr(name, '/')) {
		snprintf(ret, size, "%s", name);
		return access(ret, R_OK) == 0;
	}
	while (str_split(&path, ':', &folder)) {
		int n = snprintf(ret, size, "%.*s/%s", (int)folder.n, folder.p, name);

		if (n > 0 && (size_t)n < size && access(ret, R_OK | X_OK) == 0)
			return true;
	}
	return false;
}

/* The loader (PT_INTERP) of a program; "" if it has none. False if this is no ELF program for this
 * machine, such as a script. */
static bool read_loader(const char *path, char *ret, size_t size)
{
	_Alignas(Elf64_Ehdr) char bytes[LOADER_BYTES] = {0};
	const Elf64_Ehdr *head = (const void *)bytes;
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;

	if (file)
		fclose(file);
	if (n < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(Elf64_Phdr) ||
	    head->e_phoff % _Alignof(Elf64_Phdr) || head->e_phoff > n ||
	    head->e_phnum > (n - head->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	ret[0] = 0;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(bytes + head->e_phoff) + i;

		if (p->p_type == PT_INTERP && p->p_offset < n)
			snprintf(ret, size, "%s", bytes + p->p_offset);
	}
	return true;
}

static int check_program(const char *name)
{
	char path[PATH_SIZE], loader[PATH_SIZE];

	if (!find_program(name, path, sizeof(path)) || !read_loader(path, loader, sizeof(loader)))
		return EXIT_OK;
	if (!loader[0])
		return complain(EXIT_NO_INPUT,
				"%s is linked statically: --preload cannot get inside; record it "
				"without --preload, or link it with libvestal.a (docs/library.md)",
				path);
	if (strstr(loader, "/ld-musl"))
		return complain(
			EXIT_NO_INPUT,
			"%s is a program of musl: --preload is for glibc; record it without "
			"--preload",
			path);
	return EXIT_OK;
}

static void become(const struct inside_plan *plan, const char *library, const char *folder)
{
	const char *before = getenv("LD_PRELOAD");
	char text[2 * PATH_SIZE];

	snprintf(text, sizeof(text), "%s%s%s", library, before && *before ? ":" : "",
		 before ? before : "");
	setenv("LD_PRELOAD", text, 1);
	snprintf(text, sizeof(text), "%s/%%p.pb.gz", folder);
	setenv("VESTAL_OUTPUT", text, 1);
	setenv("VESTAL_TYPES", plan->types, 1);
	snprintf(text, sizeof(text), "%lld", (long long)plan->rate);
	setenv("VESTAL_RATE", text, 1);
	execvp(plan->program[0], plan->program);
	fprintf(stderr, "vestal: %s: %s\n", plan->program[0], strerror(errno));
	_exit(NOT_FOUND_EXIT);
}

/* Ctrl-C is for the program; what it leaves then is still read. */
static int run_program(const struct inside_plan *plan, const char *library, const char *folder,
		       int *ret_status)
{
	void (*old_int)(int) = signal(SIGINT, SIG_IGN), (*old_quit)(int) = signal(SIGQUIT, SIG_IGN);
	pid_t pid = fork(), ended;
	int status = 0;

	if (!pid) {
		signal(SIGINT, old_int);
		signal(SIGQUIT, old_quit);
		become(plan, library, folder);
	}
	while (pid > 0 && (ended = waitpid(pid, &status, 0)) != pid)
		if (ended < 0 && errno != EINTR)
			break;
	signal(SIGINT, old_int);
	signal(SIGQUIT, old_quit);
	if (pid < 0)
		return complain(EXIT_OS, "the program cannot be started: %s", strerror(errno));
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return EXIT_OK;
}

static int read_files(const char *folder, struct inputs *in)
{
	DIR *files = opendir(folder);
	struct dirent *entry;
	int status = EXIT_OK;

	while (files && !status && (entry = readdir(files))) {
		char path[PATH_SIZE + 300];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (str_ends(str_of(entry->d_name), STR(".pb.gz")))
			status = inputs_read(in, path);
	}
	if (files)
		closedir(files);
	if (!status && !in->list.n)
		return complain(EXIT_NO_INPUT,
				"the program left no profile: it was too short, is linked "
				"statically, or was ended by a signal or _exit()");
	return status ? status : inputs_merge(in);
}

static void remove_folder(const char *folder)
{
	DIR *files = opendir(folder);
	struct dirent *entry;

	while (files && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	rmdir(folder);
}

int record_inside(const struct inside_plan *plan, struct inputs *in, int *ret_status)
{
	const char *base = getenv("TMPDIR");
	char library[PATH_SIZE], folder[PATH_SIZE];
	int status = find_library(library, sizeof(library));

	if (!status)
		status = check_program(plan->program[0]);
	if (status)
		return status;
	snprintf(folder, sizeof(folder), "%s/vestal-record-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder))
		return complain(EXIT_OS, "%s: %s", folder, strerror(errno));
	status = run_program(plan, library, folder, ret_status);
	if (!status)
		status = read_files(folder, in);
	remove_folder(folder);
	return status;
}
