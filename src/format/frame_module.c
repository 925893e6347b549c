/*
 * The module of a frame: what a person would call the part of the program it belongs to. A binary
 * says little where everything is linked into one (Go) or loaded by a virtual machine, so there
 * the package that the name carries is taken.
 */
#include "format/vft.h"

static struct str base_name(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

/* net/http.(*conn).serve -> net/http */
static struct str go_package(struct str name)
{
	size_t slash = str_rfind(name, '/');
	struct str last = slash < name.n ? str_skip(name, slash + 1) : name;
	size_t dot = str_find(last, '.');

	return dot < last.n ? str_n(name.p, name.n - last.n + dot) : STR("");
}

/* java.util.HashMap.put -> java.util */
static struct str java_package(struct str name)
{
	struct str class_name = str_n(name.p, str_find(name, '('));
	size_t dot = str_rfind(class_name, '.');

	if (dot == class_name.n)
		return STR("");
	class_name.n = dot;
	dot = str_rfind(class_name, '.');
	return dot < class_name.n ? str_n(class_name.p, dot) : class_name;
}

struct str frame_module(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];
	struct str file = frame_file(d, frame), name = frame_name(d, frame);
	struct str binary = dict_str(d, d->mappings.v[f->mapping].file);

	if (f->kind == KIND_KERNEL)
		return STR("kernel");
	if (f->kind == KIND_JVM)
		return java_package(name);
	if (f->kind == KIND_GO || str_ends(file, STR(".go")) || str_ends(file, STR(".s")))
		return go_package(name);
	if (binary.n && binary.p[0] != '[')
		return base_name(binary);
	if (str_eq(binary, STR("[kernel.kallsyms]")))
		return STR("kernel");
	return file.n ? base_name(file) : binary;
}
