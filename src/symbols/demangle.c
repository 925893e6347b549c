/*
 * Demangling by libiberty, which knows C++ (Itanium) and both manglings of Rust and is linked
 * statically. Its callbacks need no heap, so a name that unfolds without end (each substitution may
 * double it) is left by a jump out of the callback once the buffer is full.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>

#include "symbols/demangle.h"
#include "symbols/symbols.h"

/* libiberty's own limit refuses names over 1,024 bytes, of which templates make plenty. Without it
 * the stack it takes grows with the name: up to here some hundred kilobytes. */
#define MANGLED_MAX  2048
#define MANGLED_SAFE 1000

struct output {
	char *at, *end; /* room for a NUL is kept */
	jmp_buf full;
};

static void take(const char *text, size_t n, void *context)
{
	struct output *o = context;
	size_t room = (size_t)(o->end - o->at), part = n < room ? n : room;

	if (part) /* a name may be empty, and is then not there at all */
		memcpy(o->at, text, part);
	o->at += part;
	if (n > room)
		longjmp(o->full, 1);
}

static bool run(const char *name, int options, struct output *o)
{
	char *start = o->at;

	if (setjmp(o->full))
		return true;
	if (rust_demangle_callback(name, options, take, o))
		return true;
	o->at = start;
	return cplus_demangle_v3_callback(name, options, take, o);
}

static bool looks_mangled(const char *name)
{
	if (name[0] == '_' && name[1] == 'R')
		return true;
	while (*name == '_' || *name == '.')
		name++;
	return name[0] == 'Z';
}

static bool keep_name(const char *name, char *out, size_t size)
{
	size_t n = strnlen(name, size - 1);

	memcpy(out, name, n);
	out[n] = 0;
	return false;
}

bool symbol_demangle(const char *name, enum symbol_names names, char *out, size_t size)
{
	struct output o = {.at = out, .end = out + size - 1};
	size_t n = strnlen(name, MANGLED_MAX + 1);
	int options = DMGL_ANSI;

	if (names == SYMBOL_NAMES_RAW || n > MANGLED_MAX || !looks_mangled(name))
		return keep_name(name, out, size);
	if (names == SYMBOL_NAMES_FULL)
		options |= DMGL_PARAMS;
	if (n > MANGLED_SAFE)
		options |= DMGL_NO_RECURSE_LIMIT;
	if (!run(name, options, &o) || o.at == out)
		return keep_name(name, out, size);
	*o.at = 0;
	if (names == SYMBOL_NAMES_SIMPLE)
		demangle_simplify(out);
	return true;
}
