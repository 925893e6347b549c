/* Requests, switches and spans at the same time. */
#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <unistd.h>

#include "vestal.h"

#define CLIENTS 3
#define ROUNDS	15

static struct sockaddr_in address = {.sin_family = AF_INET};
static atomic_int answered, refused;
static atomic_bool over;

/* A port that is free now. */
static bool find_port(void)
{
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool found;

	address.sin_port = 0;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	found = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &size) == 0;
	close(fd);
	return found;
}

static void ask(const char *line)
{
	char text[4096];
	int fd = socket(AF_INET, SOCK_STREAM, 0), n;
	ssize_t got = 0, more;

	n = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", line);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    send(fd, text, (size_t)n, MSG_NOSIGNAL) == n)
		while (got < 12 && (more = recv(fd, text + got, sizeof(text) - (size_t)got, 0)) > 0)
			got += more;
	if (got >= 12 && !memcmp(text, "HTTP/1.1 200", 12))
		answered++;
	else
		refused++;
	close(fd);
}

static void *be_client(void *unused)
{
	static const char *const lines[] = {
		"GET /vestal/profiling",
		"DELETE /vestal/profiling",
		"GET /debug/pprof/",
		"POST /vestal/profiling",
		"GET /debug/pprof/threadcreate",
		"GET /debug/pprof/cmdline",
	};

	for (int i = 0; i < ROUNDS; i++)
		ask(lines[(size_t)i % (sizeof(lines) / sizeof(lines[0]))]);
	ask("GET /debug/pprof/profile?seconds=1");
	return unused;
}

static void *work(void *unused)
{
	static const uint8_t trace[16] = {1}, span[8] = {2};
	volatile double sum = 0;

	while (!over) {
		vestal_span_enter(trace, span, "work");
		for (int i = 1; i < 200000; i++)
			sum = sum + 1.0 / i;
		vestal_label_set("k", sum > 5 ? "a" : "b");
		vestal_span_exit(sum > 5);
	}
	return unused;
}

TEST(requests_spans_and_switches_do_not_get_in_each_others_way)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct vestal_counts counts = VESTAL_COUNTS_INIT;
	pthread_t clients[CLIENTS], workers[2];
	char listen[32], output[64];
	struct vestal *v = NULL;

	CHECK(find_port());
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", ntohs(address.sin_port));
	snprintf(output, sizeof(output), "/tmp/control-threads-%d.pb.gz", (int)getpid());
	o.listen = listen;
	o.output = output;
	setenv("VESTAL_SLOW", "1ms", 1);
	setenv("VESTAL_KEEP_FAILED", "on", 1);
	setenv("VESTAL_BUDGET", "50%", 1);
	CHECK_INT(vestal_start(&o, &v), 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&workers[i], NULL, work, NULL), 0);
	for (int i = 0; i < CLIENTS; i++)
		CHECK_INT(pthread_create(&clients[i], NULL, be_client, NULL), 0);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	vestal_stop(v);
	vestal_counts_get(v, &counts);
	unlink(output);
	CHECK_INT(refused, 0);
	CHECK_INT(answered, CLIENTS * (ROUNDS + 1));
	CHECK(counts.samples > 0);
}

TEST(it_begins_and_ends_again_and_again)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	char listen[32];

	for (int i = 0; i < 5; i++) {
		struct vestal *v = NULL;

		CHECK(find_port());
		snprintf(listen, sizeof(listen), "127.0.0.1:%d", ntohs(address.sin_port));
		o.listen = listen;
		o.output = "/dev/null";
		CHECK_INT(vestal_start(&o, &v), 0);
		ask("GET /vestal/profiling");
		vestal_stop(v);
	}
}
