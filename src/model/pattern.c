#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/alloc.h"
#include "model/pattern.h"

/* A name is short: a match that needs more than this is a pattern that explodes. */
#define MATCH_LIMIT    250000
#define DEPTH_LIMIT    10000
#define HEAP_LIMIT_KIB 16384
#define MAX_SOURCE     65536

/* The build for valgrind sets this to 0: machine code reads whole vectors, also behind the end of a
 * name, and valgrind cannot know that it does not look at the rest. */
#ifndef PATTERN_JIT
#define PATTERN_JIT 1
#endif

struct pattern {
	pcre2_general_context *memory;
	pcre2_match_context *limits;
	pcre2_code *code;
	bool matches_all;
};

static void *pcre_alloc(PCRE2_SIZE size, void *unused)
{
	(void)unused;
	return mem_alloc(size);
}

static void pcre_free(void *p, void *unused)
{
	(void)unused;
	mem_free(p);
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->limits);
	pcre2_general_context_free(p->memory);
	mem_free(p);
}

static enum err make_contexts(struct pattern *p)
{
	p->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
	if (!p->memory)
		return ERR_NO_MEMORY;
	p->limits = pcre2_match_context_create(p->memory);
	if (!p->limits)
		return ERR_NO_MEMORY;
	pcre2_set_match_limit(p->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
	return ERR_OK;
}

/* Names may hold any bytes; where they are UTF-8 a dot is a character. */
static uint32_t compile_options(struct str source, unsigned flags)
{
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;

	if (flags & PATTERN_LITERAL)
		options = PCRE2_LITERAL;
	if (flags & PATTERN_IGNORE_CASE)
		options |= PCRE2_CASELESS;
	if (flags & PATTERN_ANCHORED)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	if (utf8_valid(source))
		options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	return options;
}

static enum err compile_fault(struct str source, int error, PCRE2_SIZE at, struct fault *fault)
{
	char reason[160];
	int shown = source.n < 80 ? (int)source.n : 80;

	if (error == PCRE2_ERROR_NOMEMORY || error == 121)
		return ERR_NO_MEMORY;
	if (pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof(reason)) < 0)
		reason[0] = '\0';
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "the pattern \"%.*s\" is not valid at character %zu: %s", shown,
			 source.n ? source.p : "", at + 1, reason);
}

static enum err compile(struct pattern *p, struct str source, unsigned flags, struct fault *fault)
{
	pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
	PCRE2_SPTR text = (PCRE2_SPTR)(source.n ? source.p : "");
	int error = 0;
	PCRE2_SIZE at = 0;

	if (!context)
		return ERR_NO_MEMORY;
	p->code =
		pcre2_compile(text, source.n, compile_options(source, flags), &error, &at, context);
	pcre2_compile_context_free(context);
	if (!p->code)
		return compile_fault(source, error, at, fault);
	/* Without machine code the interpreter does it. */
	if (PATTERN_JIT && !(flags & PATTERN_LITERAL))
		(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	return ERR_OK;
}

enum err pattern_new(struct str source, unsigned flags, struct pattern **ret, struct fault *fault)
{
	struct pattern *p;
	enum err e;

	if (source.n > MAX_SOURCE)
		return fault_set(fault, ERR_TOO_LARGE,
				 "a pattern of %zu bytes is longer than the limit of %d", source.n,
				 MAX_SOURCE);
	p = mem_zalloc(1, sizeof(*p));
	if (!p)
		return ERR_NO_MEMORY;
	p->matches_all = !source.n && !(flags & PATTERN_ANCHORED);
	e = make_contexts(p);
	if (!e)
		e = compile(p, source, flags, fault);
	if (e) {
		pattern_free(p);
		return e;
	}
	*ret = p;
	return ERR_OK;
}

enum err pattern_match(const struct pattern *p, struct str text, bool *ret)
{
	PCRE2_SPTR subject = (PCRE2_SPTR)(text.n ? text.p : "");
	pcre2_match_data *data;
	int found;

	if (p->matches_all) {
		*ret = true;
		return ERR_OK;
	}
	data = pcre2_match_data_create(1, p->memory);
	if (!data)
		return ERR_NO_MEMORY;
	found = pcre2_match(p->code, subject, text.n, 0, 0, data, p->limits);
	/* The stack of machine code is small; the interpreter's is on the heap, and limited. */
	if (found == PCRE2_ERROR_JIT_STACKLIMIT)
		found = pcre2_match(p->code, subject, text.n, 0, PCRE2_NO_JIT, data, p->limits);
	pcre2_match_data_free(data);
	if (found == PCRE2_ERROR_NOMEMORY)
		return ERR_NO_MEMORY;
	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		return ERR_TOO_LARGE;
	*ret = found >= 0;
	return ERR_OK;
}
