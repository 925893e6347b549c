#include <unistd.h>

#include "base/host_name.h"
#include "test.h"

TEST(a_port_is_taken_off)
{
	CHECK_STR(host_without_port(STR("localhost:4040")), "localhost");
	CHECK_STR(host_without_port(STR("[::1]:4040")), "[::1]");
	CHECK_STR(host_without_port(STR("[::1]")), "[::1]");
	CHECK_STR(host_without_port(STR("")), "");
}

TEST(addresses_are_what_nobody_can_register)
{
	CHECK(host_is_address(STR("127.0.0.1")) && host_is_address(STR("[fe80::1]")) &&
	      host_is_address(STR("")));
	CHECK(!host_is_address(STR("1.2.3.4.example")) && !host_is_address(STR("[evil]")) &&
	      !host_is_address(STR("[]")) && !host_is_address(STR("a")) &&
	      !host_is_address((struct str){"1\0", 2}));
}

TEST(localhost_is_a_whole_word)
{
	CHECK(host_is_localhost(STR("localhost")) && host_is_localhost(STR("LocalHost.")) &&
	      host_is_localhost(STR("a.localhost")));
	CHECK(!host_is_localhost(STR("notlocalhost")) && !host_is_localhost(STR("localhost.x")) &&
	      !host_is_localhost(STR("")));
}

TEST(words_of_the_local_network_have_no_dot)
{
	CHECK(host_is_local_word(STR("vestal")) && host_is_local_word(STR("db-1.")));
	CHECK(!host_is_local_word(STR("a.b")) && !host_is_local_word(STR("")) &&
	      !host_is_local_word(STR("a:1")));
}

TEST(this_machine_is_what_it_calls_itself)
{
	char name[256] = "";

	CHECK(!gethostname(name, sizeof(name) - 1));
	CHECK(!name[0] || host_is_this_machine(str_of(name)));
	CHECK(!host_is_this_machine(STR("evil.example")) && !host_is_this_machine(STR("")));
}

TEST(an_origin_has_an_authority_or_none)
{
	CHECK_STR(origin_authority(STR("https://a.example:80")), "a.example:80");
	CHECK_INT(origin_authority(STR("null")).n, 0);
	CHECK_INT(origin_authority(STR("")).n, 0);
	CHECK(host_equal(STR("A.example."), STR("a.EXAMPLE")) && !host_equal(STR("a"), STR("b")));
}
