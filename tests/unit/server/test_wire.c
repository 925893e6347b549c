#include "../test.h"

#include "server/wire.h"

struct inner {
	struct str name;
	double value;
};

struct outer {
	struct str text, bytes;
	int64_t number, choice;
	double real;
	bool flag;
	struct inner *one;
	struct list many, numbers, texts, reals;
};

#define FIELD(number_, name_, kind_, member_, ...)                                          \
	{                                                                                   \
		number_, name_, kind_, .at = offsetof(struct outer, member_), ##__VA_ARGS__ \
	}

static const struct message inner_message = {
	"Inner",
	(const struct field[]){{1, "name", FIELD_TEXT, .at = offsetof(struct inner, name)},
			       {2, "value", FIELD_DOUBLE, .at = offsetof(struct inner, value)},
			       {0}},
	sizeof(struct inner)};

static const char *const choices[] = {"NONE", "FIRST", "SECOND", NULL};

static const struct message outer_message = {
	"Outer",
	(const struct field[]){FIELD(1, "text", FIELD_TEXT, text),
			       FIELD(2, "rawBytes", FIELD_BYTES, bytes),
			       FIELD(3, "number", FIELD_INT, number),
			       FIELD(4, "choice", FIELD_ENUM, choice, .names = choices),
			       FIELD(5, "real", FIELD_DOUBLE, real),
			       FIELD(6, "flag", FIELD_BOOL, flag),
			       FIELD(7, "one", FIELD_MESSAGE, one, .message = &inner_message),
			       FIELD(8, "many", FIELD_MESSAGE, many, .repeated = true,
				     .message = &inner_message),
			       FIELD(9, "numbers", FIELD_INT, numbers, .repeated = true),
			       FIELD(10, "texts", FIELD_TEXT, texts, .repeated = true),
			       FIELD(11, "reals", FIELD_DOUBLE, reals, .repeated = true),
			       {0}},
	sizeof(struct outer)};

#define ARENA(name) CLEANUP(arena_release) struct arena name = {0}
#define BUF(name)   CLEANUP(buf_release) struct buf name = BUF_INIT(100000)

static const char everything[] =
	"{\"text\":\"é\\n\",\"rawBytes\":\"AAH/\",\"number\":\"-7\",\"choice\":2,\"real\":1.5,"
	"\"flag\":true,\"one\":{\"name\":\"x\"},\"many\":[{\"name\":\"a\",\"value\":1},{},"
	"{\"value\":2}],\"numbers\":[\"1\",\"300\",\"-1\"],\"texts\":[\"p\",\"\"],\"reals\":[0.5,2]"
	"}";

TEST(json_and_protobuf_say_the_same)
{
	ARENA(arena);
	BUF(protobuf);
	BUF(json);
	struct outer first, second;
	struct fault fault = {0};

	CHECK_OK(message_read(&outer_message, STR(everything), true, &arena, &first, &fault));
	CHECK_INT(first.number, -7);
	CHECK_INT(first.many.n, 3);
	message_write(&outer_message, &first, false, &protobuf);
	CHECK_OK(message_read(&outer_message, buf_view(&protobuf), false, &arena, &second, &fault));
	message_write(&outer_message, &second, true, &json);
	CHECK_STR(buf_view(&json), everything);
}

TEST(json_takes_names_as_the_proto_file_writes_them_and_enums_by_name)
{
	ARENA(arena);
	struct outer o;

	CHECK_OK(message_read(&outer_message,
			      STR("{\"raw_bytes\":\"_-8=\",\"choice\":\"FIRST\",\"number\":5,"
				  "\"unknown\":{\"x\":[1,2]},\"one\":null,\"text\":null}"),
			      true, &arena, &o, NULL));
	CHECK(str_eq(o.bytes, STR("\xff\xef")));
	CHECK_INT(o.choice, 1);
	CHECK_INT(o.number, 5);
	CHECK(!o.one);
}

struct holder {
	struct str profile;
	struct list counts;
};
static const struct message holder_message = {
	"Holder",
	(const struct field[]){{1, "profile", FIELD_READY, .at = offsetof(struct holder, profile)},
			       {2, "counts", FIELD_INT32, .repeated = true,
				.at = offsetof(struct holder, counts)},
			       {0}},
	sizeof(struct holder)};

TEST(a_message_that_was_encoded_before_is_copied)
{
	ARENA(arena);
	BUF(protobuf);
	BUF(json);
	int64_t counts[] = {3, 1};
	struct holder h = {STR("\x08\x07"), {counts, 2}}, back;

	message_write(&holder_message, &h, false, &protobuf);
	CHECK_STR(buf_view(&protobuf), "\x0a\x02\x08\x07\x12\x02\x03\x01");
	h.profile = STR("{\"period\":\"7\"}");
	message_write(&holder_message, &h, true, &json);
	CHECK_STR(buf_view(&json), "{\"profile\":{\"period\":\"7\"},\"counts\":[3,1]}");
	CHECK_OK(message_read(&holder_message, buf_view(&json), true, &arena, &back, NULL));
	CHECK_INT(back.profile.n, 0);
	CHECK_INT(back.counts.n, 2);
}

TEST(an_empty_body_is_a_message_in_protobuf_alone)
{
	ARENA(arena);
	BUF(out);
	struct outer o;

	CHECK_ERR(message_read(&outer_message, STR(""), true, &arena, &o, NULL), ERR_CORRUPT);
	CHECK_OK(message_read(&outer_message, STR("{\"numbers\":null,\"text\":null}"), true, &arena,
			      &o, NULL));
	CHECK_OK(message_read(&outer_message, STR(""), false, &arena, &o, NULL));
	message_write(&outer_message, &o, false, &out);
	CHECK_INT(out.n, 0);
	message_write(&outer_message, &o, true, &out);
	CHECK_STR(buf_view(&out), "{}");
}

TEST(unpacked_numbers_and_unknown_fields_are_read)
{
	ARENA(arena);
	struct outer o;

	CHECK_OK(message_read(&outer_message, STR("\x48\x01\x48\x02\xa2\x06\x01x\x4a\x02\x03\x04"),
			      false, &arena, &o, NULL));
	CHECK_INT(o.numbers.n, 4);
	CHECK_INT(((int64_t *)o.numbers.v)[3], 4);
}

static bool refused(struct str bytes, bool json, const char *why)
{
	ARENA(arena);
	struct fault fault = {0};
	struct outer o;

	return message_read(&outer_message, bytes, json, &arena, &o, &fault) != ERR_OK &&
	       strstr(fault.text, why);
}

TEST(faults_name_the_message_and_the_place)
{
	CHECK(refused(STR("\x0a\x05x"), false, "Outer: cut or malformed at byte 0"));
	CHECK(refused(STR("\x08\x05"), false, "wrong wire type"));
	CHECK(refused(STR("\x4a\x02\x01\xff"), false, "a cut list of numbers"));
	CHECK(refused(STR("[]"), true, "an object is expected"));
	CHECK(refused(STR("{\"one\":3}"), true, "an object is expected"));
	CHECK(refused(STR("{\"number\":\"x\"}"), true, "a whole number is expected"));
	CHECK(refused(STR("{\"choice\":\"THIRD\"}"), true, "is no value of choice"));
	CHECK(refused(STR("{\"rawBytes\":\"!\"}"), true, "base64 is expected"));
	CHECK(refused(STR("{\"text\":\"x\""), true, "Outer"));
}

static enum err both_ways(void)
{
	ARENA(arena);
	BUF(out);
	BUF(json);
	struct outer o;

	TRY(message_read(&outer_message, STR(everything), true, &arena, &o, NULL));
	message_write(&outer_message, &o, false, &out);
	TRY(buf_error(&out));
	TRY(message_read(&outer_message, buf_view(&out), false, &arena, &o, NULL));
	message_write(&outer_message, &o, true, &json);
	return buf_error(&json);
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(both_ways());
}
