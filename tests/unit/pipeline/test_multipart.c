#include "../test.h"

#include "base/str.h"
#include "pipeline/multipart.h"

#define TYPE "multipart/form-data; boundary=b1"

TEST(parts_are_found_with_their_names)
{
	static const char body[] =
		"preamble\r\n--b1\r\nContent-Disposition: form-data; name=\"a\"; "
		"filename=\"x;y.bin\"\r\n\r\none\r\n--b\r\n--b1  \r\n"
		"content-disposition: form-data; name=b\r\nX: y\r\n\r\n\r\n"
		"--b1\r\nContent-Disposition:form-data;NAME=c\r\n\r\n--b1--\r\n";
	struct multipart m;
	struct multipart_part p;

	CHECK_OK(multipart_init(&m, STR(TYPE), str_of(body), NULL));
	CHECK(multipart_next(&m, &p));
	CHECK_STR(p.name, "a");
	CHECK_STR(p.filename, "x;y.bin");
	CHECK_STR(p.body, "one\r\n--b");
	CHECK(multipart_next(&m, &p));
	CHECK_STR(p.name, "b");
	CHECK_STR(p.body, "");
	CHECK(multipart_next(&m, &p));
	CHECK_STR(p.name, "c");
	CHECK_STR(p.body, "");
	CHECK(!multipart_next(&m, &p) && !m.failed);
}

TEST(boundaries_are_read_as_clients_write_them)
{
	static const char body[] = "--b1\r\n\r\nx\r\n--b1--";
	static const char *const types[] = {
		TYPE,
		"multipart/form-data;boundary=\"b1\"",
		"Multipart/Form-Data; charset=utf-8 ; Boundary=b1",
		"multipart/form-data; boundary=b1; charset=utf-8",
	};
	struct multipart m;
	struct multipart_part p;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		CHECK(multipart_is(str_of(types[i])));
		CHECK_OK(multipart_init(&m, str_of(types[i]), str_of(body), NULL));
		CHECK(multipart_next(&m, &p));
		CHECK_STR(p.body, "x");
		CHECK(!multipart_next(&m, &p) && !m.failed);
	}
	CHECK(!multipart_is(STR("application/octet-stream")));
	CHECK(!multipart_is(STR("")));
}

TEST(bodies_that_are_cut_are_refused)
{
	static const char body[] =
		"--b1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--b1--\r\n";
	struct multipart m;
	struct multipart_part p;
	struct fault fault;

	/* Cut anywhere before the last boundary is whole, something is missing. */
	for (size_t n = 6; n < sizeof(body) - 5; n++) {
		if (multipart_init(&m, STR(TYPE), str_n(body, n), &fault))
			continue;
		while (multipart_next(&m, &p))
			;
		CHECK(m.failed);
	}
	CHECK_ERR(multipart_init(&m, STR("multipart/form-data"), STR(body), &fault), ERR_CORRUPT);
	CHECK_ERR(multipart_init(&m, STR("multipart/form-data; boundary=b2"), STR(body), &fault),
		  ERR_CORRUPT);
	CHECK_ERR(multipart_init(&m, STR(TYPE), STR(""), &fault), ERR_CORRUPT);
}

TEST(a_form_of_endless_parts_or_headers_is_refused)
{
	CLEANUP(mem_free_ptr) char *body = mem_alloc(200000);
	struct multipart m;
	struct multipart_part p;
	size_t n = 0, parts = 0;

	CHECK(body);
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(body + n, 200000 - n, "--b1\r\n\r\nx\r\n");
	n += (size_t)snprintf(body + n, 200000 - n, "--b1--");
	CHECK_OK(multipart_init(&m, STR(TYPE), str_n(body, n), NULL));
	while (multipart_next(&m, &p))
		parts++;
	CHECK(m.failed);
	CHECK_INT(parts, MULTIPART_MAX_PARTS);
	n = (size_t)snprintf(body, 200000, "--b1\r\n");
	for (int i = 0; i < 2000; i++)
		n += (size_t)snprintf(body + n, 200000 - n, "X-Header: y\r\n");
	n += (size_t)snprintf(body + n, 200000 - n, "\r\nx\r\n--b1--");
	CHECK_OK(multipart_init(&m, STR(TYPE), str_n(body, n), NULL));
	CHECK(!multipart_next(&m, &p) && m.failed);
}
