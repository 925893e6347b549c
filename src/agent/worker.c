#include "agent/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/worker_pace.h"
#include "agent/worker_wire.h"
#include "base/clock.h"
#include "base/vec.h"
#include "symbols/symbols.h"

/* Larger files are left alone: nothing is known that has as much code. */
#define FILE_MAX_BYTES ((u64)8 << 30)
/* A job that takes so many seconds is a trap: the alarm ends the process. It may sleep most of
 * them (worker_pace.h). */
#define JOB_SECONDS    1800
/* Files whose symbols stay open between requests. */
#define FILES_MAX      32u
/* Limits of JIT-compiled code: per process, in total, and bytes of its file per request. */
#define CODE_MEMORY    ((size_t)12 << 20)
#define CODE_READ_MAX  ((u64)8 << 20)
#define OUT_KEPT       ((size_t)64 << 10)

struct known_file {
	u64 serial;
	u64 asked;    /* last use, counted in requests; 0 = unused */
	int64_t time; /* when last */
	struct symbol_file *symbols;
	struct jit_symbols *code; /* instead: of a process, as far as its file was read */
	int debug;		  /* its debug file, until it is read; -1 = none */
	bool wants_debug;
};

struct worker {
	int socket;
	struct buf out;
	VEC(u64) addresses;
	struct known_file files[FILES_MAX];
	u64 questions;
	int64_t idle_ns;
	u64 kept_bytes;
};

/* ---- tables ---- */

static void build(struct str image, struct unwind_rules *rules, struct wire_table *head,
		  struct unwind_table *table)
{
	head->error = unwind_image_read(image, &head->image, NULL);
	/* Addresses can be resolved without a table, too. */
	if (!head->error && unwind_table_build(image, rules, table, NULL) != ERR_OK)
		*table = (struct unwind_table){0};
	if (table->blocks.n > WIRE_BLOCKS_MAX || table->page_count > WIRE_PAGES_MAX)
		unwind_table_release(table);
}

static enum err send_table(struct worker *w, struct wire_table *head,
			   const struct unwind_table *table, const struct unwind_rules *rules)
{
	size_t count;
	const struct unwind_rule *list = unwind_rules_all(rules, &count);

	head->page_count = table->page_count;
	head->rule_count = (u32)count;
	head->block_bytes = table->blocks.n;
	head->rows = table->rows;
	TRY(wire_send(w->socket, head, sizeof(*head)));
	TRY(wire_send(w->socket, table->pages, (size_t)table->page_count * sizeof(u32)));
	TRY(wire_send(w->socket, list, count * sizeof(*list)));
	return wire_send(w->socket, table->blocks.data, table->blocks.n);
}

static enum err answer_table(struct worker *w, int fd)
{
	struct wire_table head = {.error = ERR_IO};
	struct unwind_table table = {0};
	struct unwind_rules *rules;
	struct stat info;
	enum err e;

	TRY(unwind_rules_new(&rules));
	if (!fstat(fd, &info) && info.st_size > 0 && (u64)info.st_size <= FILE_MAX_BYTES) {
		void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		/* The file may be truncated meanwhile: SIGBUS then kills only this process. */
		if (bytes != MAP_FAILED) {
			worker_pace_map(bytes, (size_t)info.st_size);
			build(str_n(bytes, (size_t)info.st_size), rules, &head, &table);
			worker_pace_map(NULL, 0);
			munmap(bytes, (size_t)info.st_size);
		}
	}
	e = send_table(w, &head, &table, rules);
	unwind_table_release(&table);
	unwind_rules_free(rules);
	mem_trim();
	return e;
}

/* ---- names ---- */

static void forget_file(struct known_file *f)
{
	symbol_file_free(f->symbols);
	jit_symbols_free(f->code);
	if (f->debug >= 0)
		close(f->debug);
	*f = (struct known_file){.debug = -1};
}

/*
 * Debug information may take megabytes, and is usually needed only for a short time. Returns when
 * the next file becomes idle.
 */
static int64_t forget_idle(struct worker *w)
{
	int64_t now = clock_monotonic_ns(), next = WIRE_FOREVER;
	bool any = false;

	for (u32 i = 0; i < FILES_MAX; i++) {
		struct known_file *f = &w->files[i];

		if (f->asked && now - f->time >= w->idle_ns) {
			forget_file(f);
			any = true;
		}
		if (f->asked && f->time + w->idle_ns < next)
			next = f->time + w->idle_ns;
	}
	if (any)
		mem_trim();
	return next;
}

/* The slot of a file, or else that of the least recently used one. */
static struct known_file *place_of(struct worker *w, u64 serial)
{
	struct known_file *oldest = &w->files[0];

	for (u32 i = 0; i < FILES_MAX; i++) {
		if (w->files[i].serial == serial && w->files[i].asked) {
			w->files[i].asked = w->questions;
			w->files[i].time = clock_monotonic_ns();
			return &w->files[i];
		}
		if (w->files[i].asked < oldest->asked)
			oldest = &w->files[i];
	}
	forget_file(oldest);
	oldest->serial = serial;
	oldest->asked = w->questions;
	oldest->time = clock_monotonic_ns();
	return oldest;
}

/* The debug file sent along; without one the agent is asked for it. */
static enum err take_debug(void *context, const char *build_id, int *ret_fd)
{
	struct known_file *f = context;

	(void)build_id; /* the reader compares it */
	if (f->debug < 0) {
		f->wants_debug = true;
		return ERR_NOT_FOUND;
	}
	*ret_fd = f->debug;
	f->debug = -1;
	return ERR_OK;
}

static struct known_file *file_of(struct worker *w, const struct wire_head *q, int fd,
				  const char *path)
{
	struct known_file *f = place_of(w, q->serial);
	struct symbol_options o = {
		.names = SYMBOL_NAMES_FULL, .fetch_debug = take_debug, .fetch_context = f};

	if (!f->symbols && symbol_file_new(fd, path, &o, &f->symbols, NULL) != ERR_OK)
		f->symbols = NULL;
	return f;
}

/* From now on its names come from there. Takes the descriptor. */
static enum err answer_debug(struct worker *w, const struct wire_head *q, int fd)
{
	forget_file(place_of(w, q->serial));
	place_of(w, q->serial)->debug = fd;
	return ERR_OK;
}

static u16 text_size(const char *text)
{
	size_t n = strlen(text);

	return (u16)(n < SYMBOL_NAME_MAX ? n : SYMBOL_NAME_MAX);
}

static void put_frame(struct buf *out, const struct symbol_frame *s)
{
	struct wire_frame f = {.line = s->line,
			       .start_line = s->start_line,
			       .column = (u16)(s->column < UINT16_MAX ? s->column : 0),
			       .inlined = s->inlined,
			       .function = text_size(s->function),
			       .linkage = text_size(s->linkage),
			       .file = text_size(s->file)};

	buf_append(out, &f, sizeof(f));
	buf_append(out, s->function, f.function);
	buf_append(out, s->linkage, f.linkage);
	buf_append(out, s->file, f.file);
}

/* The symbols of an address, and the range around it with the same result, from `told` on. */
static u64 put_address(struct worker *w, struct symbol_file *symbols, u64 address, u64 told)
{
	struct symbol_frame frames[SYMBOL_FRAMES_MAX];
	struct wire_range out = {0};
	struct symbol_range range;
	size_t count = 0;

	if (symbol_file_lookup_range(symbols, address, frames, SYMBOL_FRAMES_MAX, &count, &range) ==
	    ERR_TOO_LARGE) {
		symbol_file_trim(symbols);
		if (symbol_file_lookup_range(symbols, address, frames, SYMBOL_FRAMES_MAX, &count,
					     &range))
			count = 0;
	}
	out.start = range.start > told ? range.start : told;
	out.end = range.end;
	out.frames = (u32)count;
	buf_append(&w->out, &out, sizeof(out));
	for (size_t i = 0; i < count; i++)
		put_frame(&w->out, &frames[i]);
	return range.end;
}

/* Memory of its own: what is resident (the second number of statm) but for files (the third). */
static u64 memory_taken(void)
{
	char text[200];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	struct str rest = str_n(text, n > 0 ? (size_t)n : 0), field;
	u64 resident, files;

	if (fd >= 0)
		close(fd);
	if (!str_split(&rest, ' ', &field) || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &resident) != ERR_OK || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &files) != ERR_OK || files > resident)
		return 0;
	return (resident - files) * (u64)sysconf(_SC_PAGESIZE);
}

static enum err find_names(struct worker *w, struct symbol_file *symbols)
{
	u64 told = 0;

	/* Addresses are sorted: a result is valid for the following ones in its range. */
	vec_for_each (address, &w->addresses)
		if (*address >= told)
			told = put_address(w, symbols, *address, told);
	return buf_error(&w->out);
}

static enum err find_variable(struct worker *w, struct symbol_file *symbols)
{
	char name[SYMBOL_NAME_MAX];
	uint64_t offset;

	if (w->addresses.n != 1 || !symbol_file_holds(symbols, w->addresses.v[0]))
		return ERR_BAD_INDEX;
	TRY(symbol_file_object(symbols, w->addresses.v[0], name, sizeof(name), &offset));
	buf_append(&w->out, &offset, sizeof(offset));
	buf_text(&w->out, name);
	return buf_error(&w->out);
}

static enum err take_addresses(struct worker *w, const struct wire_head *q)
{
	if (q->count > WIRE_ADDRESSES_MAX)
		return ERR_TOO_LARGE;
	w->addresses.n = 0;
	TRY(vec_reserve(&w->addresses, q->count));
	TRY(wire_recv(w->socket, w->addresses.v, q->count * sizeof(u64), WIRE_FOREVER));
	w->addresses.n = q->count;
	return ERR_OK;
}

static enum err send_names(struct worker *w, struct wire_names *head)
{
	head->size = head->error ? 0 : (u32)w->out.n;
	forget_idle(w);
	mem_trim();
	head->memory = memory_taken();
	TRY(wire_send(w->socket, head, sizeof(*head)));
	TRY(wire_send(w->socket, w->out.data, head->size));
	/* Most answers are small. */
	if (w->out.cap > OUT_KEPT)
		buf_release(&w->out);
	return ERR_OK;
}

static u64 code_bytes(const struct worker *w)
{
	u64 sum = 0;

	for (u32 i = 0; i < FILES_MAX; i++)
		sum += w->files[i].code ? jit_symbols_memory(w->files[i].code) : 0;
	return sum;
}

static enum err answer_names(struct worker *w, const struct wire_head *q, int fd)
{
	struct wire_names head = {0};
	char path[WIRE_PATH_MAX + 1];
	struct symbol_file *symbols;
	struct known_file *file;

	if (q->size > WIRE_PATH_MAX)
		return ERR_TOO_LARGE;
	TRY(wire_recv(w->socket, path, q->size, WIRE_FOREVER));
	path[q->size] = 0;
	TRY(take_addresses(w, q));
	file = file_of(w, q, fd, path);
	symbols = file->symbols;
	buf_clear(&w->out);
	if (!symbols)
		head.error = ERR_UNSUPPORTED;
	else if (q->kind == WIRE_VARIABLE)
		head.error = find_variable(w, symbols);
	else
		head.error = find_names(w, symbols);
	if (symbols) {
		/* The agent caches results itself. */
		symbol_file_forget(symbols);
		symbol_file_drop_pages(symbols);
	}
	mem_trim();
	if (memory_taken() > w->kept_bytes + code_bytes(w)) {
		bool wants_debug = file->wants_debug;

		forget_file(file);
		file->wants_debug = wants_debug;
	}
	head.wants_debug = file->wants_debug;
	return send_names(w, &head);
}

/* ---- code made at run time ---- */

/* Drops the least recently used. */
static void make_code_room(struct worker *w, const struct known_file *kept)
{
	size_t sum = 0;

	for (u32 i = 0; i < FILES_MAX; i++)
		sum += w->files[i].code ? jit_symbols_memory(w->files[i].code) : 0;
	while (sum > CODE_MEMORY) {
		struct known_file *oldest = NULL;

		for (u32 i = 0; i < FILES_MAX; i++)
			if (w->files[i].code && &w->files[i] != kept &&
			    (!oldest || w->files[i].asked < oldest->asked))
				oldest = &w->files[i];
		if (!oldest)
			break;
		sum -= jit_symbols_memory(oldest->code);
		forget_file(oldest);
	}
}

static enum err find_code(struct worker *w, const struct jit_symbols *code)
{
	u64 told = 0;

	vec_for_each (address, &w->addresses) {
		struct symbol_range range = {*address, *address + 1};
		struct symbol_frame frame;
		struct wire_range out;

		if (*address < told)
			continue;
		out = (struct wire_range){
			.frames = jit_symbols_find_range(code, *address, &frame, &range)};
		out.start = range.start > told ? range.start : told;
		out.end = told = range.end;
		buf_append(&w->out, &out, sizeof(out));
		if (out.frames)
			put_frame(&w->out, &frame);
	}
	return buf_error(&w->out);
}

static enum err answer_code(struct worker *w, const struct wire_head *q, int fd)
{
	struct wire_names head = {0};
	struct known_file *file;

	TRY(take_addresses(w, q));
	file = place_of(w, q->serial);
	buf_clear(&w->out);
	if (!file->code && jit_symbols_new(CODE_MEMORY, &file->code) != ERR_OK)
		file->code = NULL;
	/* More than there is room for, or not to be read: what is known is known. */
	if (file->code)
		(void)!jit_symbols_read_map_some(file->code, fd, CODE_READ_MAX);
	head.error = file->code ? find_code(w, file->code) : ERR_NO_MEMORY;
	make_code_room(w, file);
	return send_names(w, &head);
}

static enum err next_question(struct worker *w, struct wire_head *ret, int *ret_fd)
{
	enum err e;

	do
		e = wire_wait(w->socket, forget_idle(w));
	while (e == ERR_TIMEOUT);
	return e ? e : wire_recv_head(w->socket, ret, ret_fd, WIRE_FOREVER);
}

void worker_serve(int socket, int64_t idle_ns, uint64_t kept_bytes)
{
	struct worker w = {.socket = socket,
			   .out = BUF_INIT(WIRE_NAMES_MAX),
			   .idle_ns = idle_ns,
			   .kept_bytes = kept_bytes};
	struct wire_head q;
	enum err e = ERR_OK;
	int fd;

	for (u32 i = 0; i < FILES_MAX; i++)
		w.files[i].debug = -1;
	while (!e && next_question(&w, &q, &fd) == ERR_OK) {
		alarm(JOB_SECONDS);
		worker_pace_work();
		w.questions++;
		e = fd < 0					      ? ERR_BAD_ARGUMENT
		    : q.kind == WIRE_TABLE			      ? answer_table(&w, fd)
		    : q.kind == WIRE_NAMES || q.kind == WIRE_VARIABLE ? answer_names(&w, &q, fd)
		    : q.kind == WIRE_CODE			      ? answer_code(&w, &q, fd)
		    : q.kind == WIRE_DEBUG			      ? answer_debug(&w, &q, fd)
								      : ERR_BAD_ARGUMENT;
		if (fd >= 0 && q.kind != WIRE_DEBUG)
			close(fd);
		alarm(0);
		worker_pace_rest();
	}
	for (u32 i = 0; i < FILES_MAX; i++)
		forget_file(&w.files[i]);
	vec_release(&w.addresses);
	buf_release(&w.out);
}
