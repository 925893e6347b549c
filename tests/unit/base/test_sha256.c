#include "../test.h"

#include <stdio.h>

#include "base/sha256.h"

static struct str hex_of(struct str data)
{
	static char text[65];
	uint8_t hash[SHA256_BYTES];

	sha256(data, hash);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	return str_of(text);
}

/* The examples of FIPS 180-4, and lengths around the end of a block checked with sha256sum. */
TEST(known_hashes)
{
	static char many[1000000];

	CHECK_STR(hex_of(STR("")),
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK_STR(hex_of(STR("abc")),
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_STR(hex_of(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(many, 'a', sizeof(many));
	CHECK_STR(hex_of(str_n(many, sizeof(many))),
		  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	CHECK_STR(hex_of(str_n(many, 55)),
		  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	CHECK_STR(hex_of(str_n(many, 56)),
		  "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	CHECK_STR(hex_of(str_n(many, 64)),
		  "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}
