#include "test.h"

#include <stdlib.h>

#include "agent/endpoint.h"

#define GRPC "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define HTTP "/v1development/profiles"

static const char *const names[] = {
	"OTEL_EXPORTER_OTLP_ENDPOINT",	  "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
	"OTEL_EXPORTER_OTLP_PROTOCOL",	  "OTEL_EXPORTER_OTLP_HEADERS",
	"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TIMEOUT",
	"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY",  "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
};

static void clear(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

/* "grpc URL" or "http URL", or what is wrong. */
static const char *shown(const char *server)
{
	static char text[500];
	struct endpoint_options o = {.server = server};
	struct endpoint e;
	struct fault fault = {0};

	if (endpoint_init(&e, &o, &fault) != ERR_OK) {
		snprintf(text, sizeof(text), "%s", fault.text);
		return text;
	}
	snprintf(text, sizeof(text), "%s %s", e.grpc ? "grpc" : "http", e.url.data);
	endpoint_release(&e);
	return text;
}

#define SHOWS(server, expected) CHECK(!strcmp(shown(server), (expected)))

TEST(the_address_says_the_protocol)
{
	clear();
	SHOWS("http://h:4318", "http http://h:4318" HTTP);
	SHOWS("https://h:4318/", "http https://h:4318" HTTP);
	SHOWS("http://h", "http http://h" HTTP);
	SHOWS("http://h/otlp//", "http http://h/otlp" HTTP);
	SHOWS("http://h/x" HTTP, "http http://h/x" HTTP);
	SHOWS("http://h:4317", "grpc http://h:4317" GRPC);
	SHOWS("https://h:4317/", "grpc https://h:4317" GRPC);
	SHOWS("http://h:4317/path", "http http://h:4317/path" HTTP);
	SHOWS("http://h:14317", "http http://h:14317" HTTP);
	SHOWS("grpc://h", "grpc http://h:4317" GRPC);
	SHOWS("grpcs://h:9", "grpc https://h:9" GRPC);
	SHOWS("grpc://[::1]", "grpc http://[::1]:4317" GRPC);
	SHOWS("grpc://[::1]:9", "grpc http://[::1]:9" GRPC);
	SHOWS(NULL, "http http://127.0.0.1:4318" HTTP);
	CHECK(strstr(shown("h:4317"), "is no server"));
	CHECK(strstr(shown("http://"), "is no server"));
	CHECK(strstr(shown("ftp://h"), "is no server"));
}

TEST(the_environment_is_the_default)
{
	clear();
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/base/", 1);
	SHOWS(NULL, "http http://c:4318/base" HTTP);
	SHOWS("http://mine:4318", "http http://mine:4318" HTTP);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	SHOWS(NULL, "grpc http://c:4318" GRPC);
	SHOWS("http://mine:4318", "http http://mine:4318" HTTP);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "http/protobuf", 1);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://p/as/it/stands", 1);
	SHOWS(NULL, "http http://p/as/it/stands");
	clear();
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	SHOWS(NULL, "grpc http://127.0.0.1:4317" GRPC);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 1);
	CHECK(strstr(shown(NULL), "http/json is not spoken"));
	clear();
}

TEST(headers_timeouts_and_files_come_from_the_environment_too)
{
	struct endpoint_options o = {.token = "t0"};
	struct fault fault = {0};
	struct endpoint e;

	clear();
	setenv("OTEL_EXPORTER_OTLP_HEADERS", " api-key=a%20b%2c , x=y,,", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2500", 1);
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none", 1);
	setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca", 1);
	setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key", 1);
	CHECK_OK(endpoint_init(&e, &o, &fault));
	CHECK(e.headers.n == 4 && !e.headers.v[3]);
	CHECK(!strcmp(e.headers.v[0], "Authorization: Bearer t0"));
	CHECK(!strcmp(e.headers.v[1], "api-key: a b,"));
	CHECK(!strcmp(e.headers.v[2], "x: y"));
	CHECK(e.timeout == 2.5 && !e.gzip);
	CHECK(!strcmp(e.ca_file, "/ca") && !strcmp(e.key, "/key") && !e.certificate);
	endpoint_release(&e);
	/* Headers of the environment's server are not for another one. */
	o = (struct endpoint_options){.server = "http://other", .ca_file = "/mine"};
	CHECK_OK(endpoint_init(&e, &o, &fault));
	CHECK(e.headers.n == 1 && !strcmp(e.ca_file, "/mine"));
	endpoint_release(&e);
	clear();
}

TEST(what_cannot_be_is_said)
{
	struct endpoint_options o = {.token = "a\r\nX: b"};
	struct fault fault = {0};
	struct endpoint e;

	clear();
	CHECK_ERR(endpoint_init(&e, &o, &fault), ERR_BAD_ARGUMENT);
	o.token = NULL;
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0aX: c", 1);
	CHECK_ERR(endpoint_init(&e, &o, &fault), ERR_BAD_ARGUMENT);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "nothing", 1);
	CHECK_ERR(endpoint_init(&e, &o, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "name=value"));
	clear();
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", 1);
	CHECK_ERR(endpoint_init(&e, &o, &fault), ERR_BAD_ARGUMENT);
	clear();
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", 1);
	CHECK_ERR(endpoint_init(&e, &o, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "zstd"));
	clear();
}

static enum err once(void)
{
	const char *const headers[] = {"A: b"};
	struct endpoint_options o = {"http://h", "t", .headers = headers, .header_count = 1};
	struct endpoint e;

	TRY(endpoint_init(&e, &o, NULL));
	endpoint_release(&e);
	return ERR_OK;
}

TEST(every_allocation_may_fail)
{
	clear();
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b", 1);
	ALLOC_SWEEP(once());
	clear();
}
