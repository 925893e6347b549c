#include "test.h"

#include "agent/otlp_answer.h"

#define BYTES(literal) STR(literal)

TEST(nothing_is_full_success)
{
	struct otlp_answer a;

	CHECK(otlp_answer_read(STR(""), &a) && !a.rejected && !a.message.n);
	CHECK(otlp_answer_read(BYTES("\x0a\x00"), &a) && !a.rejected && !a.message.n);
}

TEST(rejected_profiles_and_the_reason_are_read)
{
	struct otlp_answer a;

	CHECK(otlp_answer_read(BYTES("\x0a\x08\x08\x03\x12\x04"
				     "late"),
			       &a));
	CHECK(a.rejected == 3 && str_eq(a.message, STR("late")));
	/* A negative count and a message that is no text. */
	CHECK(otlp_answer_read(BYTES("\x0a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02"
				     "\xff\xfe"),
			       &a));
	CHECK(!a.rejected && !a.message.n);
	CHECK(!otlp_answer_read(BYTES("\x0a\x08\x08"), &a));
	CHECK(!otlp_answer_read(STR("<html>"), &a));
}

#define RETRY_TYPE "\x0a\x28type.googleapis.com/google.rpc.RetryInfo"

TEST(a_status_says_when_to_come_again)
{
	/* code 14, message "busy", details RetryInfo of 2 s and 5 ns */
	struct str status = BYTES("\x08\x0e\x12\x04"
				  "busy\x1a\x32" RETRY_TYPE "\x12\x06\x0a\x04\x08\x02\x10\x05");

	CHECK(rpc_status_retry_ns(status) == 2000000005);
	CHECK(str_eq(rpc_status_message(status), STR("busy")));
	CHECK(rpc_status_retry_ns(BYTES("\x08\x0e")) == -1);
	CHECK(rpc_status_retry_ns(STR("")) == -1);
	CHECK(!rpc_status_message(STR("<html>")).n);
	/* Without a delay it may be tried at once. */
	CHECK(rpc_status_retry_ns(BYTES("\x1a\x2a" RETRY_TYPE)) == 0);
	/* Never longer than a year, never negative. */
	CHECK(rpc_status_retry_ns(BYTES("\x1a\x36" RETRY_TYPE
					"\x12\x0a\x0a\x08\x08\xff\xff\xff\xff\xff\xff\x7f")) ==
	      365ll * 86400 * 1000000000);
	CHECK(rpc_status_retry_ns(BYTES("\x1a\x39" RETRY_TYPE "\x12\x0d\x0a\x0b\x08\xff\xff\xff\xff"
					"\xff\xff\xff\xff\xff\x01")) == -1);
	for (size_t n = 0; n < status.n; n++)
		CHECK(rpc_status_retry_ns(str_n(status.p, n)) <= 2000000005);
}
