#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/symbols.h"
#include "test.h"

static char path[64];

static enum err put(const char *text)
{
	snprintf(path, sizeof(path), "/tmp/vestal-kallsyms-%d", (int)getpid());
	return file_write(path, str_of(text), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL);
}

static const char some[] = "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000100 t local\n"
			   "ffffffff81000100 T __do_global\n"
			   "ffffffff810001f0 T __pfx_next\n"
			   "ffffffff81000200 T next\n"
			   "ffffffff81000300 D data\n"
			   "0000000000000000 A fixed_percpu_data\n"
			   "garbage\n"
			   "\n"
			   "ffffffff81001000 T _etext\n"
			   "ffffffffc0000000 t mod_init\t[ext4]\n"
			   "ffffffffc0000040 t mod_work\t[ext4]\n"
			   "ffffffffc0009000 t bpf_prog_6deef7357e7b4530_sched\t[bpf]\n";

static bool is(const struct kernel_symbols *k, uint64_t address, const char *name,
	       const char *module)
{
	struct kernel_symbol s;

	if (!kernel_symbols_find(k, address, &s))
		return name == NULL;
	return name && strcmp(s.name, name) == 0 && strcmp(s.module, module) == 0 &&
	       s.start <= address;
}

TEST(functions_of_kernel_modules_and_bpf_are_found)
{
	struct kernel_symbols *k = NULL;

	CHECK_OK(put(some));
	CHECK_OK(kernel_symbols_new(path, &k, NULL));
	bool good = is(k, 0xffffffff81000005, "startup_64", "") &&
		    is(k, 0xffffffff81000100, "__do_global", "") &&
		    is(k, 0xffffffff810001ff, "__do_global", "") &&
		    is(k, 0xffffffff81000350, "next", "") &&
		    is(k, 0xffffffffc0000041, "mod_work", "ext4") &&
		    is(k, 0xffffffffc0000fff, "mod_work", "ext4") &&
		    is(k, 0xffffffffc0005000, NULL, "") &&
		    is(k, 0xffffffffc0009001, "bpf_prog_6deef7357e7b4530_sched", "bpf") &&
		    is(k, 0xffffffff80000000, NULL, "") && is(k, 0, NULL, "") &&
		    is(k, UINT64_MAX, NULL, "");

	CHECK_OK(put("ffffffff81000000 T other\n"));
	good &= kernel_symbols_refresh(k, NULL) == ERR_OK;
	good &= is(k, 0xffffffff81000005, "other", "");
	unlink(path);
	good &= kernel_symbols_refresh(k, NULL) == ERR_NOT_FOUND;
	good &= is(k, 0xffffffff81000005, "other", "");
	kernel_symbols_free(k);
	CHECK(good);
}

TEST(a_table_read_in_steps_is_the_same)
{
	struct kernel_symbols *k = NULL;
	bool complete = false, good = true;
	unsigned steps = 0;

	CHECK_OK(put(some));
	CHECK_OK(kernel_symbols_begin(path, &k, NULL));
	while (!complete && good) {
		good = is(k, 0xffffffff81000350, NULL, "");
		good &= kernel_symbols_continue(k, 100, &complete, NULL) == ERR_OK;
		steps++;
	}
	good &= steps > 1 && is(k, 0xffffffff81000350, "next", "") &&
		is(k, 0xffffffffc0000041, "mod_work", "ext4");
	/* Complete stays complete. */
	good &= kernel_symbols_continue(k, 100, &complete, NULL) == ERR_OK && complete;
	kernel_symbols_free(k);
	/* Ended before it is complete. */
	good &= kernel_symbols_begin(path, &k, NULL) == ERR_OK;
	kernel_symbols_free(k);
	unlink(path);
	CHECK(good);
}

TEST(hidden_addresses_are_said_and_not_used)
{
	struct kernel_symbols *k = NULL;
	struct fault fault = {0};

	CHECK_OK(put("0000000000000000 T _stext\n0000000000000000 t more\n"));
	CHECK_ERR(kernel_symbols_new(path, &k, &fault), ERR_NO_PERMISSION);
	CHECK(strstr(fault.text, "CAP_SYSLOG"));
	CHECK_OK(put("nothing of the kind\n"));
	CHECK_ERR(kernel_symbols_new(path, &k, &fault), ERR_UNKNOWN_FORMAT);
	unlink(path);
}

static enum err read_them(void)
{
	struct kernel_symbols *k = NULL;
	enum err error = kernel_symbols_new(path, &k, NULL);

	kernel_symbols_free(k);
	return error;
}

TEST(reading_copes_without_memory)
{
	CHECK_OK(put(some));
	ALLOC_SWEEP(read_them());
	unlink(path);
}

/* The whole table of this kernel, each function looked for at its first byte. */
TEST(every_function_of_this_kernel_is_found_in_four_mebibytes)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 20);
	struct kernel_symbols *k = NULL;
	struct fault fault = {0};
	struct str rest, line, word;
	size_t asked = 0, missing = 0, memory;
	uint64_t last = 0;

	if (kernel_symbols_new("/proc/kallsyms", &k, &fault) == ERR_NO_PERMISSION) {
		test_skip(fault.text);
		return;
	}
	CHECK(k);
	CHECK_OK(file_read("/proc/kallsyms", &text, NULL));
	rest = buf_view(&text);
	while (str_split(&rest, '\n', &line)) {
		struct kernel_symbol s;
		uint64_t address;

		if (!str_split(&line, ' ', &word) || str_to_u64(word, 16, &address) ||
		    !str_split(&line, ' ', &word) || (word.p[0] != 't' && word.p[0] != 'T') ||
		    str_starts(line, STR("__pfx_")) || address == last)
			continue;
		last = address;
		asked++;
		missing += !kernel_symbols_find(k, address, &s) || s.start != address;
	}
	memory = kernel_symbols_memory(k);
	kernel_symbols_free(k);
	printf("# %zu functions, %zu bytes\n", asked, memory);
	CHECK(asked > 1000);
	CHECK_INT(missing, 0);
	CHECK(memory <= (size_t)4 << 20);
}
