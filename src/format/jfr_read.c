/*
 * The way into a recording: chunk by chunk, then the notes.
 */
#include "format/jfr.h"

#define MAGIC "FLR" /* and its NUL */

int jfr_sniff(struct str head)
{
	return head.n >= 4 && memcmp(head.p, MAGIC, 4) == 0 ? 100 : 0;
}

/* The memos of a chunk die with it; what the dictionary has stays. */
static void forget_chunk(struct jfr_reader *r)
{
	r->methods.n = 0;
	r->thread_labels.n = 0;
	memset(r->known, 0, JFR_KNOWN_FRAMES * sizeof(*r->known));
}

static void widen_span(struct jfr_reader *r, const struct jfr_header *h)
{
	int64_t start = h->start_ns > INT64_MAX ? 0 : (int64_t)h->start_ns, end;
	/* The size of a header that was not finished may be a promise of days. */
	int64_t duration = h->duration_ns > INT64_MAX ? 0 : (int64_t)h->duration_ns;

	if (__builtin_add_overflow(start, duration, &end))
		end = start;
	if (!r->chunks || start < r->first_ns)
		r->first_ns = start;
	if (!r->chunks || end > r->last_ns)
		r->last_ns = end;
}

static enum err read_chunk(struct jfr_reader *r)
{
	struct jfr_chunk *k = r->chunk;
	struct reading *out = r->out;

	if (!k->header.metadata_offset) {
		r->unfinished++;
		return ERR_OK; /* cut off before it said what its events are */
	}
	TRY(jfr_metadata_read(k, &out->limits, &out->fault));
	TRY(jfr_compile(k, &out->fault));
	TRY(jfr_pools_read(k, &out->fault));
	TRY(jfr_events_find(k));
	TRY(jfr_settings_read(r));
	TRY(jfr_events_read(r));
	r->unfinished += !k->complete;
	widen_span(r, &k->header);
	r->chunks++;
	return ERR_OK;
}

/* Reads the chunk at `at` and moves after it. */
static enum err next_chunk(struct jfr_reader *r, struct str bytes, uint64_t *at)
{
	struct jfr_chunk chunk = {.seed = r->out->dict->seed};
	enum err e = jfr_chunk_open(&chunk, str_skip(bytes, *at), *at, &r->out->fault);

	r->chunk = &chunk;
	if (!e)
		e = read_chunk(r);
	*at += chunk.size;
	forget_chunk(r);
	jfr_chunk_release(&chunk);
	r->chunk = NULL;
	return e;
}

static enum err read_chunks(struct jfr_reader *r, struct str bytes)
{
	uint64_t at = 0;

	while (at < bytes.n) {
		struct str rest = str_skip(bytes, at);

		if (!jfr_sniff(rest)) {
			if (!at)
				return fault_set(&r->out->fault, ERR_CORRUPT,
						 "a JFR recording begins with \"FLR\" and a zero "
						 "byte; this does not");
			notes_add(&r->out->notes,
				  "%zu bytes after the last complete JFR chunk were not read",
				  rest.n);
			break;
		}
		if (at && rest.n < JFR_HEADER_SIZE) {
			notes_add(&r->out->notes, "the last JFR chunk ends inside its header");
			break;
		}
		TRY(next_chunk(r, bytes, &at));
		reading_tick(r->out, (size_t)at, bytes.n);
	}
	if (!r->chunks)
		return fault_set(
			&r->out->fault, ERR_TRUNCATED,
			"the JFR recording ends before its metadata: it was cut off, or is "
			"still being written (jcmd PID JFR.dump makes a whole one)");
	return ERR_OK;
}

static void tell(const struct jfr_reader *r)
{
	struct notes *notes = &r->out->notes;

	if (r->unfinished)
		notes_add(notes,
			  "%llu JFR chunks were truncated or still being written; their complete "
			  "parts were read",
			  (unsigned long long)r->unfinished);
	if (r->cut_stacks)
		notes_add(notes, "%llu %s cut at depth %u by the recorder",
			  (unsigned long long)r->cut_stacks,
			  r->cut_stacks == 1 ? "stack was" : "stacks were", r->cut_depth);
	if (r->missing_stacks)
		notes_add(notes, "%llu events refer to a stack the recording does not have",
			  (unsigned long long)r->missing_stacks);
	if (r->lost_samples)
		notes_add(notes, "%llu CPU time samples were lost by the recorder",
			  (unsigned long long)r->lost_samples);
	if (r->malloc_untold && (r->only == JFR_FAMILY_COUNT_ || r->only == JFR_FAMILY_MALLOC))
		notes_add(notes, "the recording does not contain the interval of nativemem; malloc "
				 "is that of the sampled calls alone");
	if (r->assumed_interval)
		notes_add(notes, "the recording has no sampling interval; 20 ms assumed");
}

enum err jfr_read(struct str bytes, struct reading *out)
{
	struct jfr_reader r = {.out = out,
			       .only = JFR_FAMILY_COUNT_,
			       .name_budget = ((uint64_t)64 << 20) + 8 * bytes.n};
	enum err e;

	buf_init(&r.text, 8 * (size_t)out->limits.max_string + 64);
	buf_init(&r.scratch, 4 * (size_t)out->limits.max_string + 64);
	for (unsigned i = 0; i < JFR_FAMILY_COUNT_; i++)
		profile_init(&r.families[i], out->dict);
	r.known = mem_zalloc(JFR_KNOWN_FRAMES, sizeof(*r.known));
	e = r.known ? read_chunks(&r, bytes) : ERR_NO_MEMORY;
	if (!e)
		e = jfr_families_finish(&r);
	if (!e) {
		out->variant = r.told[0].async_profiler || r.told[1].async_profiler
				       ? "async-profiler"
				       : "JDK";
		out->assumed_interval = r.assumed_interval;
		tell(&r);
	}
	for (unsigned i = 0; i < JFR_FAMILY_COUNT_; i++)
		profile_release(&r.families[i]);
	mem_free(r.known);
	vec_release(&r.frames);
	vec_release(&r.methods);
	vec_release(&r.thread_labels);
	buf_release(&r.text);
	buf_release(&r.scratch);
	return e;
}
