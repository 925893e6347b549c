#include "model/dict.h"

enum err dict_module(struct dict *d, struct str file, const char *build_id, struct mapping m,
		     uint32_t *ret)
{
	m.flags |= MAPPING_HAS_FUNCTIONS;
	TRY(dict_string(d, file, &m.file));
	TRY(dict_text(d, build_id, &m.build_id));
	return dict_mapping(d, &m, ret);
}

enum err dict_code_frame(struct dict *d, struct frame f, const struct code_name *name,
			 uint32_t *ret)
{
	if (name && name->function[0]) {
		struct function function = {.start_line = name->start_line};

		TRY(dict_text(d, name->function, &function.name));
		TRY(dict_text(d, name->linkage[0] ? name->linkage : name->function,
			      &function.system_name));
		TRY(dict_text(d, name->file, &function.file));
		TRY(dict_function(d, &function, &f.function));
		f.line = name->line;
		f.column = name->column;
		f.flags |= FRAME_HAS_LINE | (name->inlined ? FRAME_INLINED : 0u);
	}
	return dict_frame(d, &f, ret);
}
