/* Shortens a demangled name in place: arguments of templates and parameters of functions go.
 * A name whose brackets do not match stays as it is. */
#pragma once

void demangle_simplify(char *name);
