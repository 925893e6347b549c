#include "text_test.h"

#include "format/formats_internal.h"

/* main -> work, one sample with a trace and a label, 64-bit numbers as strings and as numbers. */
#define RESOURCE                                                                              \
	"\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":" \
	"\"shop\"}},"                                                                         \
	"{\"keyStrindex\":9,\"value\":{\"stringValueStrindex\":1}}]}"
#define PROFILES                                                                                  \
	"\"resourceProfiles\":[{" RESOURCE ",\"scopeProfiles\":[{\"scope\":{\"name\":\"s\"},"     \
	"\"profiles\":[{\"sampleType\":{\"typeStrindex\":3,\"unitStrindex\":4},\"samples\":["     \
	"{\"stackIndex\":1,\"values\":[\"70\"],\"linkIndex\":1,\"attributeIndices\":[1]},"        \
	"{\"stackIndex\":2,\"values\":[5]}],"                                                     \
	"\"timeUnixNano\":\"1700000000000000000\",\"durationNano\":1000000000,\"period\":\"10\"," \
	"\"periodType\":{\"typeStrindex\":3,\"unitStrindex\":4},"                                 \
	"\"profileId\":\"000102030405060708090a0b0c0d0e0f\",\"futureField\":{\"x\":[1]}}]}]}]"
#define DICTIONARY                                                                                 \
	"\"dictionary\":{\"attributeTable\":[{},{\"keyStrindex\":7,\"value\":{\"intValue\":"       \
	"\"42\"},"                                                                                 \
	"\"unitStrindex\":8}],"                                                                    \
	"\"mappingTable\":[{}],\"functionTable\":[{},{\"nameStrindex\":1,\"filenameStrindex\":5}," \
	"{\"nameStrindex\":2,\"startLine\":\"3\"}],"                                               \
	"\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1,\"line\":\"12\",\"column\":4}]},"  \
	"{\"lines\":[{\"functionIndex\":2}]}],"                                                    \
	"\"linkTable\":[{},{\"traceId\":\"0123456789ABCDEF0123456789abcdef\","                     \
	"\"spanId\":\"0011223344556677\"}],"                                                       \
	"\"stackTable\":[{},{\"locationIndices\":[2,1]},{\"locationIndices\":[1]}],"               \
	"\"stringTable\":[\"\",\"main\",\"work\",\"cpu\",\"nanoseconds\",\"a.c\",\"\",\"size\","   \
	"\"bytes\",\"host.name\"]}"

static const char dictionary_last[] = "{" PROFILES "," DICTIONARY "}";
static const char dictionary_first[] = "{" DICTIONARY "," PROFILES "}\n";

#define LOAD(l_, text_)                                 \
	CLEANUP(loaded_release) struct loaded l_ = {0}; \
	CHECK_OK(load(&l_, otlp_json_read, STR(text_)))

#define CHECK_FOLDED(l_, i, expected)                                     \
	do {                                                              \
		CLEANUP(buf_release) struct buf out_ = BUF_INIT(1 << 20); \
		CHECK_OK(store(&l_, folded_write, i, 0, &out_));          \
		CHECK_STR(buf_view(&out_), expected);                     \
	} while (0)

static void check_content(struct loaded *l)
{
	const struct profile *p;
	const struct label *label;
	const struct link *link;

	CHECK_INT(l->list.n, 1);
	p = l->list.v[0];
	CHECK_FOLDED(*l, 0, "main 5\nmain;work 70\n");
	CHECK_INT(p->time_ns, 1700000000000000000);
	CHECK_INT(p->duration_ns, 1000000000);
	CHECK_INT(p->period, 10);
	CHECK_INT(p->profile_id[15], 15);
	label = label_find(&l->dict, p->labels[0], STR("size"));
	CHECK(label && label->type == LABEL_INT && label->value == 42);
	CHECK_STR(dict_str(&l->dict, label->unit), "bytes");
	CHECK(p->link);
	link = &l->dict.links.v[p->link[0]];
	CHECK_INT(link->trace_id[0], 0x01);
	CHECK_INT(link->trace_id[15], 0xef);
	CHECK_INT(link->span_id[7], 0x77);
	label = label_find(&l->dict, p->resource, STR("service.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l->dict, (uint32_t)label->value), "shop");
	label = label_find(&l->dict, p->resource, STR("host.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l->dict, (uint32_t)label->value), "main");
}

TEST(a_profile_is_read_wherever_its_dictionary_stands)
{
	LOAD(l, dictionary_last);
	check_content(&l);
	LOAD(again, dictionary_first);
	check_content(&again);
}

TEST(what_is_written_reads_back_equal)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(loaded_release) struct loaded again = {0};
	struct writing w = {.type = -1, .compress = -1};

	LOAD(l, dictionary_last);
	w.list = &l.list;
	CHECK_OK(otlp_json_write(&w, &out));
	notes_release(&w.notes);
	CHECK_OK(load(&again, otlp_json_read, buf_view(&out)));
	check_content(&again);
	CHECK(str_search(buf_view(&out), STR("\"traceId\":\"0123456789abcdef0123456789abcdef\"")) <
	      out.n);
	CHECK(str_search(buf_view(&out), STR("\"timeUnixNano\":\"1700000000000000000\"")) < out.n);
}

TEST(several_objects_in_a_file_are_read_one_by_one)
{
	LOAD(l, "{" PROFILES "," DICTIONARY "}\n{" DICTIONARY "," PROFILES "}\n");
	CHECK_INT(l.list.n, 2);
	CHECK_FOLDED(l, 1, "main 5\nmain;work 70\n");
}

/* Two profiles of the same type: strings 1 and 4 are both "cpu". */
#define CPU_OF(type_, value_)                                                               \
	"{\"sampleType\":{\"typeStrindex\":" type_ ",\"unitStrindex\":2},\"periodType\":"   \
	"{\"typeStrindex\":1,\"unitStrindex\":2},\"period\":\"10\",\"timeUnixNano\":\"5\"," \
	"\"durationNano\":\"9\",\"samples\":[{\"stackIndex\":1,\"values\":[\"" value_ "\"]}]}"

TEST(a_type_whose_name_is_twice_in_the_table_is_one_type)
{
	LOAD(l,
	     "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[" CPU_OF(
		     "1", "10") "," CPU_OF("4", "30") "]}]}],"
						      "\"dictionary\":{\"stringTable\":[\"\","
						      "\"cpu\",\"nanoseconds\",\"main\",\"cpu\"],"
						      "\"functionTable\":[{},{\"nameStrindex\":3}],"
						      "\"locationTable\":[{},{\"lines\":["
						      "{\"functionIndex\":1}]}],\"stackTable\":[{},"
						      "{\"locationIndices\":[1]}],"
						      "\"mappingTable\":[{}],\"linkTable\":[{}],"
						      "\"attributeTable\":[{}]}}");
	CHECK_INT(l.list.n, 2);
	CHECK_INT(l.list.v[0]->type_count, 1);
	CHECK_INT(l.list.v[1]->type_count, 1);
	CHECK_INT(profile_total(l.list.v[0], 0) + profile_total(l.list.v[1], 0), 40);
}

TEST(snake_case_base64_and_the_names_of_1_8_are_understood)
{
	LOAD(l, "{\"resource_profiles\":[{\"scope_profiles\":[{\"profiles\":[{\"sample_type\":"
		"{\"type_strindex\":2,\"unit_strindex\":3},\"profile_id\":\"AAECAwQFBgcICQoLDA0ODw="
		"=\","
		"\"sample\":[{\"stack_index\":1,\"values\":[\"7\"],\"link_index\":1}]}]}]}],"
		"\"dictionary\":{\"string_table\":[\"\",\"f\",\"cpu\",\"nanoseconds\"],"
		"\"function_table\":[{},{\"name_strindex\":1}],\"mapping_table\":[{}],"
		"\"attribute_table\":[{}],\"link_table\":[{},{\"trace_id\":"
		"\"AQEBAQEBAQEBAQEBAQEBAQ==\","
		"\"span_id\":\"AgICAgICAgI=\"}],"
		"\"location_table\":[{},{\"line\":[{\"function_index\":1}]}],"
		"\"stack_table\":[{},{\"location_indices\":[1]}]}}");
	CHECK_FOLDED(l, 0, "f 7\n");
	CHECK_INT(l.list.v[0]->profile_id[15], 15);
	CHECK_INT(l.dict.links.v[l.list.v[0]->link[0]].trace_id[3], 1);
	CHECK_INT(l.dict.links.v[l.list.v[0]->link[0]].span_id[3], 2);
}

#define ATTRIBUTE(value)                                                                           \
	"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":" value    \
	"}]},"                                                                                     \
	"\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{\"values\":[1]}]}]}]}],\"dictionary\":{" \
	"\"stringTable\":[\"\"],\"stackTable\":[{}],\"mappingTable\":[{}],\"locationTable\":[{}]," \
	"\"functionTable\":[{}],\"linkTable\":[{}],\"attributeTable\":[{}]}}"

static void check_attribute(struct str file, enum label_type type, const char *text)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(buf_release) struct buf value = BUF_INIT(1000);
	const struct label *label;

	CHECK_OK(load(&l, otlp_json_read, file));
	CHECK_INT(l.list.n, 1);
	label = label_find(&l.dict, l.list.v[0]->resource, STR("k"));
	CHECK(label);
	CHECK_INT(label->type, type);
	label_value(&l.dict, label, &value);
	CHECK_STR(buf_view(&value), text);
}

TEST(every_kind_of_attribute_value_is_kept)
{
	check_attribute(STR(ATTRIBUTE("{\"stringValue\":\"x\\ny\"}")), LABEL_STRING, "x\ny");
	check_attribute(STR(ATTRIBUTE("{\"intValue\":\"-9223372036854775808\"}")), LABEL_INT,
			"-9223372036854775808");
	check_attribute(STR(ATTRIBUTE("{\"intValue\":5}")), LABEL_INT, "5");
	check_attribute(STR(ATTRIBUTE("{\"boolValue\":true}")), LABEL_BOOL, "true");
	check_attribute(STR(ATTRIBUTE("{\"doubleValue\":1.5}")), LABEL_DOUBLE, "1.5");
	check_attribute(STR(ATTRIBUTE("{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"},"
				      "{\"intValue\":\"1\"}]}}")),
			LABEL_JSON, "[\"a\",1]");
	check_attribute(STR(ATTRIBUTE("{\"kvlistValue\":{\"values\":[{\"key\":\"a\",\"value\":"
				      "{\"arrayValue\":{\"values\":[{\"boolValue\":false}]}}}]}}")),
			LABEL_JSON, "{\"a\":[false]}");
}

#define CHECK_REFUSED(input, code_, message)                                 \
	do {                                                                 \
		CLEANUP(loaded_release) struct loaded l_ = {0};              \
		CHECK_ERR(load(&l_, otlp_json_read, STR(input)), code_);     \
		if (!strstr(l_.reading.fault.text, message))                 \
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", \
				  l_.reading.fault.text, message);           \
	} while (0)

TEST(reader_refuses_what_is_not_a_number_an_id_or_a_reference)
{
	CHECK_REFUSED(ATTRIBUTE("{\"intValue\":\"x\"}"), ERR_CORRUPT, "at most 63 bits");
	CHECK_REFUSED(ATTRIBUTE("{\"intValue\":1.5}"), ERR_CORRUPT, "whole number");
	CHECK_REFUSED(ATTRIBUTE("{\"intValue\":NaN}"), ERR_CORRUPT, "NaN is not JSON");
	CHECK_REFUSED(ATTRIBUTE("{\"stringValueStrindex\":3}"), ERR_BAD_INDEX,
		      "string 3 of 1 strings does not exist");
	CHECK_REFUSED(ATTRIBUTE("{\"stringValueStrindex\":-1}"), ERR_BAD_INDEX, "string -1");
	CHECK_REFUSED(ATTRIBUTE("{\"bytesValue\":\"%%\"}"), ERR_CORRUPT, "expected base64");
	CHECK_REFUSED("{\"dictionary\":{\"linkTable\":[{\"traceId\":\"12\"}]}}", ERR_CORRUPT,
		      "dictionary.linkTable[0].traceId at byte 39: expected an id of 16 bytes");
	CHECK_REFUSED("{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[4294967296]}]}}",
		      ERR_CORRUPT, "32 bits");
	CHECK_REFUSED("[]", ERR_CORRUPT, "expected an object, found an array");
	CHECK_REFUSED("{} x", ERR_CORRUPT, "expected an object");
}

TEST(values_nested_too_deeply_are_refused)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	CLEANUP(loaded_release) struct loaded l = {0};

	buf_text(&b,
		 "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":");
	for (int i = 0; i < 10000; i++)
		buf_text(&b, "{\"arrayValue\":{\"values\":[");
	CHECK_ERR(load(&l, otlp_json_read, buf_view(&b)), ERR_TOO_DEEP);
}

static enum err read_and_write(void)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(loaded_release) struct loaded l;
	struct writing w = {.list = &l.list, .type = -1, .compress = -1};
	enum err e;

	TRY(load(&l, otlp_json_read, STR(dictionary_last)));
	e = otlp_json_write(&w, &out);
	notes_release(&w.notes);
	return e;
}

TEST(reader_and_writer_survive_any_allocation_failing)
{
	ALLOC_SWEEP(read_and_write());
}

TEST(every_cut_and_many_changes_of_a_file_are_read_or_refused)
{
	read_prefixes(otlp_json_read, STR(dictionary_last));
	read_mutations(otlp_json_read, STR(dictionary_last));
	read_mutations(otlp_json_read, STR(dictionary_first));
}
