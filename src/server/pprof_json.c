#include "server/pprof_json.h"

#include "server/wire_table.h"

struct value_type_message {
	int64_t type, unit;
};
struct label_entry {
	int64_t key, str, num, num_unit;
};
struct sample_message {
	struct list locations, values, labels;
};
struct mapping_message {
	int64_t id, start, limit, offset, filename, build_id;
	bool functions, filenames, lines, inlines;
};
struct line_message {
	int64_t function, line, column;
};
struct location_message {
	int64_t id, mapping, address;
	struct list lines;
	bool folded;
};
struct function_message {
	int64_t id, name, system_name, filename, start_line;
};
struct pprof_profile {
	struct list sample_types, samples, mappings, locations, functions, strings;
	int64_t drop, keep, time, duration;
	struct value_type_message *period_type;
	int64_t period;
	struct list comments;
	int64_t default_type, doc_url;
};

static const struct message value_type_table =
	TABLE_OF(value_type_message, "ValueType", F(value_type_message, 1, "type", INT, type),
		 F(value_type_message, 2, "unit", INT, unit));
static const struct message label_table =
	TABLE_OF(label_entry, "Label", F(label_entry, 1, "key", INT, key),
		 F(label_entry, 2, "str", INT, str), F(label_entry, 3, "num", INT, num),
		 F(label_entry, 4, "numUnit", INT, num_unit));
static const struct message sample_table =
	TABLE_OF(sample_message, "Sample", R(sample_message, 1, "locationId", INT, locations),
		 R(sample_message, 2, "value", INT, values),
		 RM(sample_message, 3, "label", labels, label_table));
static const struct message mapping_table =
	TABLE_OF(mapping_message, "Mapping", F(mapping_message, 1, "id", INT, id),
		 F(mapping_message, 2, "memoryStart", INT, start),
		 F(mapping_message, 3, "memoryLimit", INT, limit),
		 F(mapping_message, 4, "fileOffset", INT, offset),
		 F(mapping_message, 5, "filename", INT, filename),
		 F(mapping_message, 6, "buildId", INT, build_id),
		 F(mapping_message, 7, "hasFunctions", BOOL, functions),
		 F(mapping_message, 8, "hasFilenames", BOOL, filenames),
		 F(mapping_message, 9, "hasLineNumbers", BOOL, lines),
		 F(mapping_message, 10, "hasInlineFrames", BOOL, inlines));
static const struct message line_table =
	TABLE_OF(line_message, "Line", F(line_message, 1, "functionId", INT, function),
		 F(line_message, 2, "line", INT, line), F(line_message, 3, "column", INT, column));
static const struct message location_table =
	TABLE_OF(location_message, "Location", F(location_message, 1, "id", INT, id),
		 F(location_message, 2, "mappingId", INT, mapping),
		 F(location_message, 3, "address", INT, address),
		 RM(location_message, 4, "line", lines, line_table),
		 F(location_message, 5, "isFolded", BOOL, folded));
static const struct message function_table =
	TABLE_OF(function_message, "Function", F(function_message, 1, "id", INT, id),
		 F(function_message, 2, "name", INT, name),
		 F(function_message, 3, "systemName", INT, system_name),
		 F(function_message, 4, "filename", INT, filename),
		 F(function_message, 5, "startLine", INT, start_line));
static const struct message profile_table = TABLE_OF(
	pprof_profile, "Profile",
	RM(pprof_profile, 1, "sampleType", sample_types, value_type_table),
	RM(pprof_profile, 2, "sample", samples, sample_table),
	RM(pprof_profile, 3, "mapping", mappings, mapping_table),
	RM(pprof_profile, 4, "location", locations, location_table),
	RM(pprof_profile, 5, "function", functions, function_table),
	R(pprof_profile, 6, "stringTable", TEXT, strings),
	F(pprof_profile, 7, "dropFrames", INT, drop), F(pprof_profile, 8, "keepFrames", INT, keep),
	F(pprof_profile, 9, "timeNanos", INT, time),
	F(pprof_profile, 10, "durationNanos", INT, duration),
	{11, "periodType", FIELD_MESSAGE, .at = offsetof(struct pprof_profile, period_type),
	 .message = &value_type_table},
	F(pprof_profile, 12, "period", INT, period), R(pprof_profile, 13, "comment", INT, comments),
	F(pprof_profile, 14, "defaultSampleType", INT, default_type),
	F(pprof_profile, 15, "docUrl", INT, doc_url));

enum err pprof_to_json(struct str profile, struct buf *out)
{
	struct pprof_profile value;
	struct arena arena;
	enum err error;

	arena_init(&arena, out->ceiling);
	error = message_read(&profile_table, profile, false, &arena, &value, NULL);
	if (error == ERR_OK)
		message_write(&profile_table, &value, true, out);
	arena_release(&arena);
	return error == ERR_OK ? buf_error(out) : error;
}
