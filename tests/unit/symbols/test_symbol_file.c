#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbol_cache_file.h"
#include "symbols/symbols.h"
#include "test.h"

static enum err open_self(const struct symbol_options *options, struct symbol_file **ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	enum err error =
		fd < 0 ? ERR_IO : symbol_file_new(fd, "/proc/self/exe", options, ret, NULL);

	close(fd);
	return error;
}

/* The address of a function of this program as the file counts it. */
static uint64_t vaddr_of(struct symbol_file *f, const void *address)
{
	CLEANUP(buf_release) struct buf maps = BUF_INIT((size_t)4 << 20);
	struct str rest, line, from, to, mode, offset;
	uint64_t start, end, at, vaddr = 0;

	if (file_read("/proc/self/maps", &maps, NULL))
		return 0;
	rest = buf_view(&maps);
	while (str_split(&rest, '\n', &line)) {
		if (!str_split(&line, '-', &from) || !str_split(&line, ' ', &to) ||
		    !str_split(&line, ' ', &mode) || !str_split(&line, ' ', &offset) ||
		    str_to_u64(from, 16, &start) || str_to_u64(to, 16, &end) ||
		    str_to_u64(offset, 16, &at))
			continue;
		if ((uintptr_t)address >= start && (uintptr_t)address < end &&
		    symbol_file_offset_to_vaddr(f, at + ((uintptr_t)address - start), &vaddr))
			return vaddr;
	}
	return 0;
}

static inline __attribute__((always_inline)) uintptr_t here(void)
{
	uintptr_t pc;

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	pc--; /* it was the address of what follows */
#else
	__asm__ volatile("adr %0, ." : "=r"(pc));
#endif
	return pc;
}

static __attribute__((noinline)) uintptr_t holds_inlined_code(int *ret_line)
{
	*ret_line = __LINE__ + 1;
	return here();
}

int known_variable[16] = {1};

TEST(a_variable_is_found_by_an_address_in_it)
{
	struct symbol_options options = {.names = SYMBOL_NAMES_FULL};
	struct symbol_file *f;
	char name[100];
	uint64_t vaddr, offset;

	CHECK_OK(open_self(&options, &f));
	vaddr = vaddr_of(f, known_variable);
	CHECK(vaddr && symbol_file_holds(f, vaddr) && !symbol_file_holds(f, UINT64_MAX));
	CHECK_OK(symbol_file_object(f, vaddr, name, sizeof(name), &offset));
	CHECK_STR(str_of(name), "known_variable");
	CHECK_INT(offset, 0);
	CHECK_OK(symbol_file_object(f, vaddr + 20, name, sizeof(name), &offset));
	CHECK_INT(offset, 20);
	CHECK_OK(symbol_file_object(f, vaddr, name, 6, &offset));
	CHECK_STR(str_of(name), "known");
	CHECK_ERR(symbol_file_object(f, UINT64_MAX, name, sizeof(name), &offset), ERR_NOT_FOUND);
	symbol_file_free(f);
}

TEST(a_running_function_and_what_was_inlined_into_it_are_named)
{
	struct symbol_options options = {0};
	struct symbol_frame frames[8];
	struct symbol_file *f = NULL;
	struct symbol_facts facts;
	uint64_t vaddr, back, offset;
	size_t n = 0;
	int line;
	bool good;

	CHECK_OK(open_self(&options, &f));
	vaddr = vaddr_of(f, (const void *)holds_inlined_code(&line));
	good = vaddr && symbol_file_vaddr_to_offset(f, vaddr, &offset) &&
	       symbol_file_offset_to_vaddr(f, offset, &back) && back == vaddr;
	good = good && symbol_file_lookup(f, vaddr, frames, 8, &n) == ERR_OK && n == 2;
	good = good && strcmp(frames[0].function, "here") == 0 && frames[0].inlined;
	good = good && strcmp(frames[1].function, "holds_inlined_code") == 0 &&
	       !frames[1].inlined && frames[1].line == (uint32_t)line &&
	       strstr(frames[1].file, "test_symbol_file.c") && frames[1].start_line;
	good = good && symbol_file_lookup(f, vaddr, frames, 1, &n) == ERR_OK && n == 1;
	symbol_file_trim(f);
	good = good && symbol_file_lookup(f, vaddr, frames, 8, &n) == ERR_OK && n == 2;
	good = good && symbol_file_facts(f, &facts) == ERR_OK && facts.dwarf && facts.symtab;
	good = good && symbol_file_lookup(f, 3, frames, 8, &n) == ERR_OK && n == 0;
	symbol_file_free(f);
	CHECK(good);
}

/* What a file says of an address, as text: to be compared with what it says of another. */
static enum err say(struct symbol_file *f, uint64_t vaddr, struct symbol_range *range,
		    struct buf *text)
{
	struct symbol_frame frames[SYMBOL_FRAMES_MAX];
	size_t n;

	buf_clear(text);
	TRY(symbol_file_lookup_range(f, vaddr, frames, SYMBOL_FRAMES_MAX, &n, range));
	for (size_t i = 0; i < n; i++)
		buf_printf(text, "%s %s:%u:%u\n", frames[i].function, frames[i].file,
			   frames[i].line, frames[i].column);
	return buf_error(text);
}

/* Walks `count` ranges from an address on; in each some other addresses must have its answer. */
static bool ranges_hold(const char *path, uint64_t vaddr, int count)
{
	CLEANUP(buf_release) struct buf here_text = BUF_INIT(65536), there_text = BUF_INIT(65536);
	struct symbol_options options = {.names = SYMBOL_NAMES_RAW};
	struct symbol_file *f = NULL, *g = NULL;
	struct symbol_range range, other;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = !symbol_file_new(fd, path, &options, &f, NULL) &&
		    !symbol_file_new(fd, path, &options, &g, NULL);

	close(fd);
	for (int i = 0; good && i < count; i++) {
		good = !say(f, vaddr, &range, &here_text) && range.start <= vaddr &&
		       vaddr < range.end;
		for (uint64_t k = 0; good && k < 8; k++) {
			uint64_t at = range.start + (range.end - range.start - 1) * k / 7;

			good = !say(g, at, &other, &there_text) &&
			       str_eq(buf_view(&here_text), buf_view(&there_text));
			if (!good)
				printf("# %s %llx, %llx: %s%s", path, (unsigned long long)vaddr,
				       (unsigned long long)at, here_text.data, there_text.data);
		}
		vaddr = range.end;
	}
	symbol_file_free(f);
	symbol_file_free(g);
	return good;
}

/* The path of a library of this program; "" when it has none. */
static void library_path(struct str part, char *ret, size_t size)
{
	CLEANUP(buf_release) struct buf maps = BUF_INIT((size_t)4 << 20);
	struct str rest, line;

	ret[0] = 0;
	if (file_read("/proc/self/maps", &maps, NULL))
		return;
	rest = buf_view(&maps);
	while (str_split(&rest, '\n', &line)) {
		struct str path = str_skip(line, str_find(line, '/'));

		if (str_search(path, part) < path.n)
			snprintf(ret, size, "%.*s", (int)path.n, path.p);
	}
}

/* With debug information, and with little more than what is exported. */
TEST(an_answer_holds_for_all_of_its_range)
{
	struct symbol_options options = {0};
	struct symbol_file *f = NULL;
	char libc[4096];
	uint64_t vaddr;

	CHECK_OK(open_self(&options, &f));
	vaddr = vaddr_of(f, (const void *)holds_inlined_code);
	symbol_file_free(f);
	CHECK(vaddr && ranges_hold("/proc/self/exe", vaddr, 400));
	library_path(STR("/libc.so"), libc, sizeof(libc));
	CHECK(libc[0] && ranges_hold(libc, 0x20000, 4000));
}

static uint64_t swept;

static enum err look_up(void)
{
	struct symbol_options options = {.cache_directory = "/tmp"};
	struct symbol_frame frames[8];
	struct symbol_file *f = NULL;
	size_t n;
	enum err error = open_self(&options, &f);

	if (!error)
		error = symbol_file_lookup(f, swept, frames, 8, &n);
	if (!error)
		error = symbol_file_lookup(f, swept + 1, frames, 8, &n);
	symbol_file_free(f);
	return error;
}

TEST(a_look_up_copes_without_memory)
{
	struct symbol_options options = {0};
	struct symbol_file *f = NULL;
	int line;

	CHECK_OK(open_self(&options, &f));
	swept = vaddr_of(f, (const void *)holds_inlined_code(&line));
	symbol_file_free(f);
	ALLOC_SWEEP(look_up());
}

TEST(a_failed_allocation_does_not_spoil_the_file)
{
	struct symbol_options options = {0};
	struct symbol_frame frames[8];
	struct symbol_file *f = NULL;
	size_t n = 0;
	bool good = true;

	CHECK_OK(open_self(&options, &f));
	for (int i = 0; i < 40; i++) {
		alloc_fail_at(i, true);
		enum err error = symbol_file_lookup(f, swept, frames, 8, &n);

		alloc_fail_off();
		good &= error == ERR_OK || error == ERR_NO_MEMORY;
	}
	good &= symbol_file_lookup(f, swept, frames, 8, &n) == ERR_OK && n == 2;
	symbol_file_free(f);
	CHECK(good);
}

static enum err save_twice(const char *folder)
{
	struct symbol_options options = {.cache_directory = folder};
	struct symbol_frame frames[8];
	struct symbol_file *f = NULL;
	size_t n;
	enum err error = open_self(&options, &f);

	for (uint64_t a = 0; !error && a < 40; a++)
		error = symbol_file_lookup(f, swept + a * 16, frames, 8, &n);
	if (!error)
		error = symbol_file_save(f, NULL);
	symbol_file_free(f);
	return error;
}

TEST(saving_copes_without_memory)
{
	char folder[] = "/tmp/vestal-symbols-XXXXXX", command[128];

	CHECK(mkdtemp(folder));
	ALLOC_SWEEP(save_twice(folder));
	ALLOC_SWEEP(save_twice(folder));
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_INT(system(command), 0);
}

/* The checksum is right and the numbers are not: nothing outside the file may be read. */
TEST(a_cache_full_of_wrong_numbers_stays_inside)
{
	char path[] = "/tmp/vestal-vsym-XXXXXX", *bytes;
	size_t size = sizeof(struct cache_header) + 8 * sizeof(struct cached_range) +
		      8 * sizeof(struct cached_frame) + 16;
	struct cache_header h = {.key = 5, .ranges = 8, .frames = 8, .text = 16};
	struct symbol_frame frames[8];
	bool good = true;

	close(mkostemp(path, O_CLOEXEC));
	bytes = mem_alloc(size);
	CHECK(bytes);
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	srand(1);
	for (int turn = 0; turn < 300; turn++) {
		struct cached_range *ranges = (void *)(bytes + sizeof(h));
		struct symbol_range range;
		struct symbol_cache c;
		size_t n;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (char)(rand() >> 7);
		for (int i = 0; i < 8; i++) { /* every other one can be found */
			ranges[i].start = (uint64_t)i * 100;
			ranges[i].size = 100;
			ranges[i].count = i % 2 ? (uint32_t)rand() % 9 : ranges[i].count;
			ranges[i].first = i % 2 ? (uint32_t)rand() % 9 : ranges[i].first;
		}
		memcpy(bytes, &h, sizeof(h));
		bytes[size - 1] = (char)(turn % 10 == 9);
		((struct cache_header *)(void *)bytes)->checksum =
			cache_checksum(str_n(bytes, size));
		good &= !file_write(path, str_n(bytes, size), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL);
		symbol_cache_init(&c, 65536);
		enum err error = symbol_cache_open(&c, path, 5, 5);

		good &= error == (turn % 10 == 9 ? ERR_CORRUPT : ERR_OK);
		for (uint64_t address = 0; address < 900; address += 50) {
			if (!symbol_cache_find(&c, address, frames, 8, &n, &range))
				continue;
			for (size_t i = 0; i < n; i++)
				good &= strlen(frames[i].function) < 16 &&
					strlen(frames[i].file) < 16;
		}
		symbol_cache_release(&c);
	}
	unlink(path);
	mem_free(bytes);
	CHECK(good);
}

TEST(a_file_that_is_shortened_while_it_is_read_is_given_up)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT((size_t)256 << 20);
	char path[] = "/tmp/vestal-torn-XXXXXX";
	struct symbol_options options = {0};
	struct symbol_frame frames[8];
	struct symbol_file *f = NULL;
	enum err error = ERR_OK;
	size_t n;
	int fd = mkostemp(path, O_CLOEXEC);

	CHECK_OK(symbols_guard());
	CHECK_OK(file_read("/proc/self/exe", &bytes, NULL));
	CHECK_OK(write_all(fd, bytes.data, bytes.n));
	CHECK_OK(symbol_file_new(fd, path, &options, &f, NULL));
	bool good = ftruncate(fd, 8192) == 0;

	for (uint64_t a = 0; a < 20 && !error; a++)
		error = symbol_file_lookup(f, swept + a, frames, 8, &n);
	good &= error == ERR_TRUNCATED;
	symbol_file_free(f);
	close(fd);
	unlink(path);
	CHECK(good);
}

TEST(what_is_no_elf_file_is_refused_with_a_sentence)
{
	struct symbol_options options = {0};
	struct symbol_file *f = NULL;
	struct fault fault = {0};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	CHECK(symbol_file_new(fd, "maps", &options, &f, &fault));
	CHECK(strstr(fault.text, "maps"));
	close(fd);
	fd = memfd_create("text", MFD_CLOEXEC);
	CHECK_OK(write_all(fd, "#!/bin/sh\n", 10));
	CHECK_ERR(symbol_file_new(fd, "script", &options, &f, &fault), ERR_UNKNOWN_FORMAT);
	CHECK(strstr(fault.text, "script"));
	close(fd);
}
