/*
 * Field numbers of OTLP profiles (opentelemetry.proto.profiles.v1development), as of proto 1.10
 * and 1.11. Older layouts differ in Sample and Profile only; their numbers stand beside.
 * ExportProfilesServiceRequest has the same numbers as ProfilesData.
 */
#pragma once

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };

enum {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS,
	DICTIONARY_FUNCTIONS,
	DICTIONARY_LINKS,
	DICTIONARY_STRINGS,
	DICTIONARY_ATTRIBUTES,
	DICTIONARY_STACKS,
};

enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES, RESOURCE_PROFILES_SCHEMA_URL };
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED, RESOURCE_ENTITY_REFS };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES, SCOPE_PROFILES_SCHEMA_URL };
enum { SCOPE_NAME = 1, SCOPE_VERSION, SCOPE_ATTRIBUTES, SCOPE_DROPPED };

/* Since 1.9; in 1.8 field 7 is comment_strindices and 8 to 12 are what 7 to 11 are here. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID,
	PROFILE_DROPPED,
	PROFILE_PAYLOAD_FORMAT,
	PROFILE_PAYLOAD,
	PROFILE_ATTRIBUTES,
};

enum { PROFILE_1_8_COMMENTS = 7, PROFILE_1_8_ID = 8, PROFILE_1_8_ATTRIBUTES = 12 };

/* Since 1.10; in 1.8 and 1.9 values are 2, attributes 3, link 4. */
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };
enum { SAMPLE_1_9_VALUES = 2, SAMPLE_1_9_ATTRIBUTES = 3, SAMPLE_1_9_LINK = 4 };

enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTES };
enum { LINK_TRACE_ID = 1, LINK_SPAN_ID };
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT, VALUE_TYPE_1_8_TEMPORALITY };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE, ATTRIBUTE_UNIT };
enum { PAIR_KEY = 1, PAIR_VALUE, PAIR_KEY_STRINDEX };
enum { VALUES_VALUES = 1 }; /* ArrayValue, KeyValueList */

enum {
	ANY_FIELD_STRING = 1,
	ANY_FIELD_BOOL,
	ANY_FIELD_INT,
	ANY_FIELD_DOUBLE,
	ANY_FIELD_ARRAY,
	ANY_FIELD_LIST,
	ANY_FIELD_BYTES,
	ANY_FIELD_STRINDEX,
};

/* Names of attributes that the model has fields of its own for. */
#define ATTR_FRAME_TYPE	   "profile.frame.type"
#define ATTR_IS_FOLDED	   "pprof.location.is_folded"
#define ATTR_HAS_FUNCTIONS "pprof.mapping.has_functions"
#define ATTR_HAS_FILENAMES "pprof.mapping.has_filenames"
#define ATTR_HAS_LINES	   "pprof.mapping.has_line_numbers"
#define ATTR_HAS_INLINES   "pprof.mapping.has_inline_frames"
#define ATTR_BUILD_ID_GNU  "process.executable.build_id.gnu"
#define ATTR_BUILD_ID_GO   "process.executable.build_id.go"
#define ATTR_BUILD_ID_HTL  "process.executable.build_id.htlhash"
#define ATTR_BUILD_ID_OLD  "process.executable.build_id.profiling"
#define ATTR_COMMENT	   "pprof.profile.comment"
#define ATTR_DOC_URL	   "pprof.profile.doc_url"
#define ATTR_DROP_FRAMES   "pprof.profile.drop_frames"
#define ATTR_KEEP_FRAMES   "pprof.profile.keep_frames"
#define ATTR_DEFAULT_TYPE  "pprof.scope.default_sample_type"
#define ATTR_TYPE_ORDER	   "pprof.scope.sample_type_order"
/* Other attributes of a scope become attributes of its profiles, under this prefix. */
#define ATTR_SCOPE_PREFIX  "otel.scope."
