#include "test.h"

#include <errno.h>

#include "base/str.h"

TEST(every_error_has_a_text_a_label_and_statuses)
{
	for (int e = ERR_OK; e < ERR_COUNT_; e++) {
		CHECK(err_text((enum err)e)[0] && err_label((enum err)e)[0]);
		CHECK(err_http((enum err)e) >= 200 && err_http((enum err)e) < 600);
		CHECK(err_grpc((enum err)e) >= 0 && err_grpc((enum err)e) <= 16);
		CHECK((e == ERR_OK) == (err_http((enum err)e) == 200));
		CHECK((e == ERR_OK) == (err_grpc((enum err)e) == 0));
		for (int other = ERR_OK; other < e; other++)
			CHECK(strcmp(err_label((enum err)e), err_label((enum err)other)) != 0);
	}
}

TEST(a_number_that_is_no_error_reads_as_a_bug)
{
	CHECK(!strcmp(err_label((enum err)9999), "internal"));
	CHECK(!strcmp(err_label((enum err) - 1), "internal"));
}

TEST(what_a_client_may_retry_is_not_the_clients_fault)
{
	CHECK(!err_retry(ERR_OK) && !err_retry(ERR_CORRUPT) && !err_retry(ERR_BAD_ARGUMENT));
	CHECK(err_retry(ERR_NO_MEMORY) && err_retry(ERR_NETWORK) && err_retry(ERR_TIMEOUT));
}

TEST(errno_values_become_errors)
{
	CHECK(err_from_errno(0) == ERR_OK);
	CHECK(err_from_errno(ENOENT) == ERR_NOT_FOUND);
	CHECK(err_from_errno(ENOSPC) == ERR_NO_SPACE);
	CHECK(err_from_errno(EACCES) == ERR_NO_PERMISSION);
	CHECK(err_from_errno(12345) == ERR_IO);
}

TEST(a_fault_holds_code_and_text)
{
	struct fault f = {0};

	CHECK(fault_set(&f, ERR_CORRUPT, "field %d", 7) == ERR_CORRUPT);
	CHECK(f.code == ERR_CORRUPT);
	CHECK_STR(str_of(f.text), "field 7");
	fault_prefix(&f, "cpu.pb.gz");
	CHECK_STR(str_of(f.text), "cpu.pb.gz: field 7");
	CHECK(fault_set(NULL, ERR_IO, "nobody listens") == ERR_IO);
	fault_prefix(NULL, "x");
}

TEST(a_fault_can_be_made_out_of_its_own_text)
{
	struct fault f = {0};

	(void)!fault_set(&f, ERR_CORRUPT, "inner");
	(void)!fault_set(&f, ERR_IO, "outer (%s)", f.text);
	CHECK_STR(str_of(f.text), "outer (inner)");
}

TEST(a_fault_never_carries_control_characters)
{
	struct fault f = {0};

	(void)!fault_set(&f, ERR_CORRUPT, "%s", "a\nb\x1b[31mc\x7f");
	CHECK_STR(str_of(f.text), "a?b?[31mc?");
	fault_prefix(&f, "evil\r");
	CHECK_STR(str_of(f.text), "evil?: a?b?[31mc?");
}

TEST(a_long_fault_is_cut_between_characters)
{
	struct fault f = {0};
	char longer[1000];

	for (size_t shift = 0; shift < 4; shift++) {
		memset(longer, 'x', shift);
		for (size_t i = shift; i + 4 < sizeof(longer); i += 4)
			memcpy(longer + i, "🌍", 5);
		(void)!fault_set(&f, ERR_CORRUPT, "%s", longer);
		CHECK(strlen(f.text) > 390 && strlen(f.text) < sizeof(f.text));
		CHECK(utf8_valid(str_of(f.text)));
		fault_prefix(&f, "file");
		CHECK(utf8_valid(str_of(f.text)));
	}
}

TEST(an_empty_fault_gets_no_prefix)
{
	struct fault f = {0};

	fault_prefix(&f, "x");
	CHECK_STR(str_of(f.text), "");
}
