/*
 * Legacy pprof: which of the old formats it is, and how its samples become rows.
 */
#include "base/hash.h"
#include "format/formats_internal.h"
#include "format/legacy.h"

/* Frames of the profiler that each kind of profile hides, as in google/pprof. */
static const char drop_alloc[] =
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
	"tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|"
	"tc_pvalloc|tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|"
	"tc_new_nothrow|tc_newarray_nothrow|malloc_zone_malloc|malloc_zone_calloc|"
	"malloc_zone_valloc|malloc_zone_realloc|malloc_zone_memalign|malloc_zone_free|"
	"runtime\\..*|BaseArena::.*|(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc|"
	"DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|_M_allocate|"
	"__builtin_(vec_)?delete|__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate|"
	"__libc_malloc|__malloc_alloc_template::allocate|allocate|cpp_alloc|operator new(\\[\\])?|"
	"simple_alloc::allocate";
static const char keep_alloc[] = "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";
static const char drop_lock[] =
	"RecordLockProfileData|(base::)?RecordLockProfileData.*|(base::)?SubmitMutexProfileData.*|"
	"(base::)?SubmitSpinLockProfileData.*|(base::Mutex::)?AwaitCommon.*|"
	"(base::Mutex::)?Unlock.*|(base::Mutex::)?UnlockSlow.*|(base::Mutex::)?ReaderUnlock.*|"
	"(base::MutexLock::)?~MutexLock.*|(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|"
	"(Mutex::)?UnlockSlow.*|(Mutex::)?ReaderUnlock.*|(MutexLock::)?~MutexLock.*|"
	"(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|(SpinLockHolder::)?~SpinLockHolder.*";
static const char drop_cpu[] = "ProfileData::Add|ProfileData::prof_handler|"
			       "CpuProfiler::prof_handler|__pthread_sighandler|__restore";

bool legacy_first_line(struct text_lines *lines, struct str *ret)
{
	while (text_line(lines, ret))
		if (!legacy_is_comment(*ret))
			return true;
	return false;
}

typedef enum err legacy_reader(struct legacy *l);

/* Java's contention profiles begin as those of C++ do, and then say so. */
static bool says_java(struct text_lines lines)
{
	struct str line;

	for (int i = 0; i < 5 && text_line(&lines, &line); i++)
		if (str_starts(line, STR("format")) && str_search(line, STR("java")) < line.n)
			return true;
	return false;
}

static bool is_count_header(struct str line)
{
	size_t at = str_search(line, STR(" profile: total "));
	struct str total = str_skip(line, at + 16);
	uint64_t number;

	return at && at < line.n && str_find((struct str){line.p, at}, ' ') == at &&
	       str_to_u64(total, 10, &number) == ERR_OK;
}

static legacy_reader *find_reader(struct str bytes)
{
	struct text_lines lines;
	struct str line;

	if (legacy_is_cpu(bytes))
		return legacy_cpu;
	if (str_starts(bytes, STR("heap profile:")))
		return legacy_heap;
	if (!text_looks_plain(bytes))
		return NULL;
	text_lines_init(&lines, bytes);
	if (!legacy_first_line(&lines, &line))
		return NULL;
	if (is_count_header(line))
		return legacy_count;
	if (str_starts(line, STR("--- threadz ")) || str_starts(line, STR("--- Thread ")))
		return legacy_threads;
	if (str_starts(line, STR("--- heapz 1 ---")))
		return legacy_java;
	if (str_starts(line, STR("--- contentionz ")) && says_java(lines))
		return legacy_java;
	if (str_starts(line, STR("--- contentionz ")) || str_starts(line, STR("--- mutex:")) ||
	    str_starts(line, STR("--- contention:")))
		return legacy_contention;
	return NULL;
}

/* Distinct addresses in order of first use, with their frames. */
struct places {
	VEC(uint64_t) addresses;
	struct map index;
	uint32_t *mapping;
	VEC(uint32_t) frames;
	VEC(uint32_t) first; /* in frames, and one past the last */
};

static void places_release(struct places *p)
{
	vec_release(&p->addresses);
	map_release(&p->index);
	mem_free(p->mapping);
	vec_release(&p->frames);
	vec_release(&p->first);
}

static uint32_t find_place(const struct legacy *l, const struct places *p, uint64_t address)
{
	MAP_PROBE(&p->index, hash_mix(address, l->out->dict->seed), i)
	{
		if (p->addresses.v[i] == address)
			return i;
	}
	return MAP_NONE;
}

static enum err collect_places(struct legacy *l, struct places *p)
{
	vec_for_each (s, &l->samples) {
		for (uint32_t i = 0; i < s->n; i++) {
			uint64_t address = l->addresses.v[s->at + i];

			if (find_place(l, p, address) != MAP_NONE)
				continue;
			TRY(map_put(&p->index, hash_mix(address, l->out->dict->seed),
				    (uint32_t)p->addresses.n));
			TRY(vec_push(&p->addresses, address));
		}
	}
	p->mapping = mem_zalloc(p->addresses.n + 1, sizeof(*p->mapping));
	if (!p->mapping)
		return ERR_NO_MEMORY;
	return l->java ? ERR_OK : legacy_place(l, p->addresses.v, p->mapping, p->addresses.n);
}

static enum err named_frame(struct legacy *l, const struct legacy_symbol *s, struct frame *frame)
{
	struct function function = {0};

	TRY(text_intern(l->out, s->name, &function.name));
	TRY(text_intern(l->out, s->file, &function.file));
	TRY(dict_function(l->out->dict, &function, &frame->function));
	frame->line = s->line;
	frame->flags |= FRAME_HAS_LINE;
	if (s->next != UINT32_MAX)
		frame->flags |= FRAME_INLINED;
	if (l->java && s->line)
		frame->kind = KIND_JVM;
	return ERR_OK;
}

static enum err add_frames(struct legacy *l, struct places *p, size_t i)
{
	uint32_t symbol = legacy_find_symbol(l, p->addresses.v[i]), id;

	do {
		struct frame frame = {.address = p->addresses.v[i], .mapping = p->mapping[i]};

		if (symbol != UINT32_MAX) {
			const struct legacy_symbol *s = &l->symbols.v[symbol];

			TRY(named_frame(l, s, &frame));
			if (l->java)
				frame.address = 0;
			symbol = s->next;
		}
		TRY(dict_frame(l->out->dict, &frame, &id));
		/* Frame 0 means "no frame": one without any content needs a name. */
		if (!id)
			TRY(dict_named_frame(l->out->dict, STR("[unknown]"), &id));
		TRY(vec_push(&p->frames, id));
	} while (symbol != UINT32_MAX);
	return ERR_OK;
}

static enum err add_rows(struct legacy *l, struct places *p, struct stack_builder *stack)
{
	for (size_t i = 0; i < l->samples.n; i++) {
		const struct legacy_sample *s = &l->samples.v[i];
		struct row row = {.labels = s->labels};
		uint32_t bytes;

		stack_builder_reset(stack);
		for (uint32_t j = 0; j < s->n; j++) {
			uint32_t place = find_place(l, p, l->addresses.v[s->at + j]);

			for (uint32_t f = p->first.v[place]; f < p->first.v[place + 1]; f++)
				TRY(stack_builder_push(stack, &l->out->limits, p->frames.v[f]));
		}
		stack->cut |= s->cut;
		TRY(stack_builder_finish(stack, l->out, &row.stack));
		if (s->has_bytes) {
			TRY(text_label_int(l->out->dict, STR("bytes"), s->bytes, STR(""), &bytes));
			TRY(dict_label_set(l->out->dict, &bytes, 1, &row.labels));
		}
		TRY(text_add_row(l->out, l->profile, &row, s->values));
	}
	return ERR_OK;
}

static enum err add_profile(struct legacy *l)
{
	struct places p = {0};
	struct stack_builder stack = {0};
	enum err e = collect_places(l, &p);

	for (size_t i = 0; !e && i < p.addresses.n; i++) {
		e = vec_push(&p.first, (uint32_t)p.frames.n);
		if (!e)
			e = add_frames(l, &p, i);
	}
	if (!e)
		e = vec_push(&p.first, (uint32_t)p.frames.n);
	if (!e)
		e = add_rows(l, &p, &stack);
	stack_builder_release(&stack);
	places_release(&p);
	return e;
}

static enum err set_frame_rules(struct legacy *l, legacy_reader *reader)
{
	struct profile *p = l->profile;
	struct str first = dict_str(l->out->dict, p->types[0].type);

	if (reader == legacy_heap || str_eq(first, STR("inuse_objects"))) {
		TRY(dict_text(l->out->dict, keep_alloc, &p->keep_frames));
		return dict_text(l->out->dict, drop_alloc, &p->drop_frames);
	}
	if (str_eq(first, STR("contentions")))
		return dict_text(l->out->dict, drop_lock, &p->drop_frames);
	return dict_text(l->out->dict, drop_cpu, &p->drop_frames);
}

static void legacy_release(struct legacy *l)
{
	vec_release(&l->addresses);
	vec_release(&l->samples);
	vec_release(&l->mappings);
	vec_release(&l->symbols);
	map_release(&l->symbol_index);
	arena_release(&l->names);
}

enum err legacy_read(struct str bytes, struct reading *out)
{
	struct legacy l = {.out = out, .last_symbol = UINT32_MAX};
	legacy_reader *reader = find_reader(bytes);
	enum err e;

	if (!reader)
		return fault_set(
			&out->fault, ERR_UNKNOWN_FORMAT,
			"none of the legacy pprof formats: expected \"heap profile:\", "
			"\"x profile: total N\", \"--- contention:\", \"--- threadz\" or the "
			"words of a CPU profile");
	text_lines_init(&l.lines, bytes);
	e = profile_list_add(out->list, out->dict, &l.profile);
	if (!e)
		e = reader(&l);
	if (!e)
		e = legacy_end_comments(&l);
	if (!e)
		e = add_profile(&l);
	if (!e)
		e = set_frame_rules(&l, reader);
	legacy_release(&l);
	return e;
}

int legacy_sniff(struct str head)
{
	return find_reader(head) ? 96 : 0;
}
