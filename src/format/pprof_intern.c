/*
 * Interning, for the stacks a dictionary has not seen: entries are read again from the file, once
 * each, because in the long run nearly none of them is needed.
 */
#include "format/pprof.h"

enum err pprof_intern_string(struct pprof_file *f, uint64_t index, uint32_t *ret)
{
	struct str s;
	uint32_t id;

	if (index >= f->strings.n)
		return pprof_fault(f, ERR_BAD_INDEX, NULL,
				   "string index %lld, the string table has %zu entries",
				   (long long)index, f->strings.n);
	if (!f->string_id[index]) {
		s = str_n(f->bytes.p + f->strings.v[index].at, f->strings.v[index].n);
		if (!utf8_valid(s))
			notes_add(&f->out->notes, "a string is not valid UTF-8: kept as it is");
		TRY(dict_hashed_string(f->out->dict, s, f->string_hash[index], &id));
		f->string_id[index] = id + 1;
	}
	*ret = f->string_id[index] - 1;
	return ERR_OK;
}

static enum err intern_function(struct pprof_file *f, uint32_t position, uint32_t *ret)
{
	struct pprof_function raw;
	struct function fn;
	uint32_t id;

	if (!f->function_id[position]) {
		TRY(pprof_read_function(f, position, &raw));
		fn.start_line = raw.start_line;
		TRY(pprof_intern_string(f, raw.name, &fn.name));
		TRY(pprof_intern_string(f, raw.system_name, &fn.system_name));
		TRY(pprof_intern_string(f, raw.file, &fn.file));
		TRY(dict_hashed_function(f->out->dict, &fn, f->function_hash[position], &id));
		f->function_id[position] = id + 1;
	}
	*ret = f->function_id[position] - 1;
	return ERR_OK;
}

enum err pprof_intern_mapping(struct pprof_file *f, uint32_t position, uint32_t *ret)
{
	struct mapping m;
	uint64_t file_id;
	uint32_t id;

	if (!f->mapping_id[position]) {
		TRY(pprof_read_mapping(f, position, &m, &file_id));
		TRY(pprof_intern_string(f, m.file, &m.file));
		TRY(pprof_intern_string(f, m.build_id, &m.build_id));
		TRY(dict_mapping(f->out->dict, &m, &id));
		f->mapping_id[position] = id + 1;
	}
	*ret = f->mapping_id[position] - 1;
	return ERR_OK;
}

/* A line as a frame whose function and mapping are those of the dictionary. */
static enum err take_frame(struct pprof_file *f, const struct pprof_raw_location *l, size_t line,
			   struct frame *ret)
{
	TRY(pprof_location_frame(f, l, line, ret));
	if (ret->function)
		TRY(intern_function(f, ret->function - 1, &ret->function));
	if (ret->mapping)
		TRY(pprof_intern_mapping(f, ret->mapping - 1, &ret->mapping));
	return ERR_OK;
}

enum err pprof_intern_line(struct pprof_file *f, uint32_t position, uint64_t hash, uint32_t *ret)
{
	struct pprof_raw_location l;
	struct frame frame;

	TRY(pprof_read_location(f, position, &l));
	TRY(take_frame(f, &l, 0, &frame));
	return dict_add_frame(f->out->dict, hash, &frame, ret);
}

/* f->frames grows by a count and the frames; the memo is set only when all of them are there. */
static enum err intern_location(struct pprof_file *f, uint32_t position)
{
	struct pprof_raw_location l;
	size_t at = f->frames.n, lines;
	struct frame frame;
	uint32_t id;

	TRY(pprof_read_location(f, position, &l));
	lines = f->raw_lines.n ? f->raw_lines.n : 1;
	TRY(vec_push(&f->frames, (uint32_t)lines));
	for (size_t line = 0; line < lines; line++) {
		TRY(take_frame(f, &l, line, &frame));
		TRY(dict_frame(f->out->dict, &frame, &id));
		TRY(vec_push(&f->frames, id));
	}
	f->location_frames[position] = (uint32_t)at + 1;
	return ERR_OK;
}

enum err pprof_intern_location(struct pprof_file *f, uint32_t position, const uint32_t **ret,
			       uint32_t *ret_n)
{
	const uint32_t *entry;

	if (!f->location_frames[position])
		TRY(intern_location(f, position));
	entry = f->frames.v + f->location_frames[position] - 1;
	*ret_n = entry[0];
	*ret = entry + 1;
	return ERR_OK;
}
