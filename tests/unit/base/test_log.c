#include "test.h"

#include <math.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"

/* A pipe the log goes to, and what arrived in it. */
static int ends[2];

static void open_log(enum log_level least, enum log_style style)
{
	if (pipe(ends) < 0)
		return;
	log_setup(ends[1], least, style);
}

static void read_log(struct buf *ret)
{
	log_setup(2, LEVEL_OFF, LOG_LOGFMT);
	close(ends[1]);
	if (file_read_fd(ends[0], "log", ret, NULL))
		ret->n = 0;
	close(ends[0]);
}

/* The line after its time stamp. */
static struct str after_time(struct buf *b)
{
	size_t at = str_search(buf_view(b), STR("level"));

	return str_skip(buf_view(b), at);
}

TEST(logfmt_quotes_only_what_needs_it)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	open_log(LEVEL_INFO, LOG_LOGFMT);
	log_info("profile stored", log_text("service", "cart"), log_u64("bytes", 12),
		 log_i64("delta", -3), log_f64("share", 0.25), log_bool("new", true),
		 log_text("empty", ""), log_text("path", "/a b"), log_text("eq", "a=b"));
	read_log(&b);
	CHECK_STR(after_time(&b),
		  "level=info msg=\"profile stored\" service=cart bytes=12 delta=-3 "
		  "share=0.25 new=true empty=\"\" path=\"/a b\" eq=\"a=b\"\n");
	CHECK(str_starts(buf_view(&b), STR("time=20")));
}

TEST(json_lines_are_objects)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	open_log(LEVEL_DEBUG, LOG_JSON);
	log_debug("x", log_text("k", "v"), log_u64("n", UINT64_MAX), log_bool("b", false),
		  log_f64("f", NAN), log_err(ERR_IO));
	read_log(&b);
	CHECK_STR(after_time(&b), "level\":\"debug\",\"msg\":\"x\",\"k\":\"v\",\"n\":"
				  "18446744073709551615,\"b\":false,\"f\":null,\"error\":\"reading "
				  "or writing failed\"}\n");
	CHECK(str_starts(buf_view(&b), STR("{\"time\":\"20")));
}

TEST(values_cannot_forge_lines_or_keys)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	open_log(LEVEL_INFO, LOG_LOGFMT);
	log_warn("m", log_text("v", "a\nlevel=error \"q\" \\ \x1b[31m\x7f"));
	read_log(&b);
	CHECK_STR(after_time(&b), "level=warn msg=m v=\"a\\nlevel=error \\\"q\\\" \\\\ "
				  "\\u001b[31m\\u007f\"\n");
}

TEST(invalid_utf8_becomes_the_replacement_character)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	open_log(LEVEL_INFO, LOG_JSON);
	log_info("m", log_text("v", "ok é \xff\xc3"));
	read_log(&b);
	CHECK(utf8_valid(buf_view(&b)));
	CHECK(str_search(buf_view(&b), STR("\"ok é ��\"}")) < b.n);
}

TEST(long_values_are_cut_and_what_does_not_fit_is_left_out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);
	static char longer[5000];

	memset(longer, 'x', sizeof(longer) - 1);
	open_log(LEVEL_INFO, LOG_JSON);
	log_info("m", log_text("k1", longer), log_text("k2", longer), log_text("k3", longer),
		 log_text("k4", longer), log_text("k5", longer), log_text("k6", longer),
		 log_text("k7", longer), log_text("k8", longer), log_text("k9", longer),
		 log_text("k10", longer), log_text("k11", longer), log_text("k12", longer),
		 log_text("k13", longer), log_text("k14", longer), log_text("k15", longer),
		 log_text("k16", longer), log_text("k17", longer), log_u64("last", 1));
	read_log(&b);
	CHECK(b.n < 8192);
	CHECK(str_search(buf_view(&b), STR("xxx…\",\"k2\"")) < b.n);
	CHECK(str_ends(buf_view(&b), STR("\"cut\":true}\n")));
	CHECK(str_search(buf_view(&b), STR("last")) == b.n);
}

TEST(lower_levels_are_silent_and_do_not_evaluate_their_values)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);
	int evaluated = 0;

	open_log(LEVEL_WARN, LOG_LOGFMT);
	log_debug("a", log_i64("n", ++evaluated));
	log_info("b", log_i64("n", ++evaluated));
	log_warn("c");
	log_error("d");
	log_write(LEVEL_OFF, "never", &(struct log_pair){LOG_END, NULL, {.u = 0}});
	CHECK(!log_enabled(LEVEL_INFO) && log_enabled(LEVEL_ERROR));
	read_log(&b);
	CHECK_INT(evaluated, 0);
	CHECK(str_search(buf_view(&b), STR("msg=c")) < b.n);
	CHECK(str_search(buf_view(&b), STR("msg=d")) < b.n);
	CHECK(str_search(buf_view(&b), STR("msg=a")) == b.n);
	CHECK(str_search(buf_view(&b), STR("never")) == b.n);
}

TEST(levels_are_parsed_by_name)
{
	enum log_level level = LEVEL_INFO;

	CHECK_OK(log_level_parse(STR("error"), &level));
	CHECK(level == LEVEL_ERROR);
	CHECK_OK(log_level_parse(STR("off"), &level));
	CHECK(level == LEVEL_OFF);
	CHECK_ERR(log_level_parse(STR("loud"), &level), ERR_BAD_ARGUMENT);
	CHECK(level == LEVEL_OFF);
}

TEST(logging_allocates_nothing_and_survives_a_closed_descriptor)
{
	alloc_fail_at(0, true);
	log_setup(-1, LEVEL_INFO, LOG_JSON);
	log_info("nobody reads this", log_text("k", "v"));
	log_setup(2, LEVEL_OFF, LOG_LOGFMT);
	CHECK(!alloc_fail_reached());
}
