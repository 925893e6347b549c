/*
 * Functions under other names than the profile has them, where clients or runtimes want it so.
 */
#pragma once

#include "model/model.h"

/* Writes the new name of a function; false when it keeps its own. */
typedef bool (*function_name_fn)(const struct dict *d, const struct function *f, struct buf *out);

/* The rows' stacks with functions renamed. What they were called stays in the dictionary: use one
 * that is thrown away. */
enum err rename_functions(struct profile *p, function_name_fn name) MUST_CHECK;

/* Older clients for Python and Ruby: "file name", as Pyroscope shows it; py-spy's names with
 * absolute paths stay. */
bool script_name(const struct dict *d, const struct function *f, struct buf *out);
bool python_name(const struct dict *d, const struct function *f, struct buf *out);

/*
 * Classes the JVM makes up as it runs have a number or an address in their name, another in every
 * process: without it, equal stacks are equal.
 *
 *	Main$$Lambda$53.0x00007f16c80c6cb8.run             Main$$Lambda_.run
 *	jdk.internal.reflect.GeneratedMethodAccessor31.invoke	…GeneratedMethodAccessor_.invoke
 *	Shop$$EnhancerBySpringCGLIB$$5e9f.pay              Shop$$EnhancerBySpringCGLIB$$_.pay
 */
bool java_name(const struct dict *d, const struct function *f, struct buf *out);
