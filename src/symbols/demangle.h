/* Shortens a demangled name in place: removes template arguments and function parameters. A name
 * with unbalanced brackets is unchanged. */
#pragma once

void demangle_simplify(char *name);
