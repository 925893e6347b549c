/*
 * Uploads to a server like a fleet, on a few hundred connections of one thread, and prints the
 * results as a line of JSON.
 *
 *	load [-i INSTANCES] HOST:PORT CONNECTIONS UPLOADS START_SECONDS DIR...
 *
 * Every DIR contains the uploads of one service (genprof service … SEED). Upload i goes to service
 * i mod services, to one of its instances (two) in turn, and covers fifteen seconds; the uploads of
 * a service are consecutive. A connection sends its next upload after the response to the previous
 * one; latency is from the first byte sent to the last byte received.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_SERVICES 200
#define MAX_FILES    4000
#define WINDOW	     15

struct service {
	struct buf files[MAX_FILES];
	size_t n;
};

struct connection {
	int fd;
	char head[512];
	size_t head_n, sent; /* of head and body together */
	const struct buf *body;
	char reply[4096];
	size_t received;
	double started;
};

static struct service *services;
static size_t service_count, instances = 2, uploads, next_upload, finished, failed;
static uint64_t bytes;
static long start_seconds;
static double *latencies;

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_service(const char *path)
{
	struct service *s = &services[service_count++];
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0)
		die(path);
	for (int i = 0; i < n && s->n < MAX_FILES; i++) {
		char file[4096];

		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		buf_init(&s->files[s->n], (size_t)64 << 20);
		if (file_read(file, &s->files[s->n++], NULL))
			die(file);
	}
}

static void begin(struct connection *c)
{
	size_t i = next_upload++, service = i % service_count;
	size_t instance = i / service_count % instances;
	size_t window = i / service_count / instances;
	const struct service *s = &services[service];
	long from = start_seconds + (long)window * WINDOW;

	c->body = &s->files[(i / service_count) % s->n];
	c->head_n = (size_t)snprintf(
		c->head, sizeof(c->head),
		"POST /ingest?name=service-%zu%%7Binstance%%3D%zu%%7D&from=%ld&until=%ld"
		"&format=pprof&spyName=gospy&sampleRate=100 HTTP/1.1\r\nHost: localhost\r\n"
		"Content-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
		service, instance, from, from + WINDOW, c->body->n);
	c->sent = c->received = 0;
	c->started = now();
}

/* False when the socket takes no more for now. */
static int push(struct connection *c)
{
	while (c->sent < c->head_n + c->body->n) {
		size_t of_body = c->sent > c->head_n ? c->sent - c->head_n : 0;
		struct iovec parts[2] = {{c->head + c->sent,
					  c->sent < c->head_n ? c->head_n - c->sent : 0},
					 {c->body->data + of_body, c->body->n - of_body}};
		ssize_t n = c->sent < c->head_n ? writev(c->fd, parts, 2)
						: write(c->fd, parts[1].iov_base, parts[1].iov_len);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			die("write");
		c->sent += (size_t)n;
	}
	return 1;
}

/* Length of a whole answer at the start of the buffer, 0 when it is not complete. */
static size_t answer_length(const struct connection *c)
{
	const char *end = memmem(c->reply, c->received, "\r\n\r\n", 4), *length;

	if (!end)
		return 0;
	length = memmem(c->reply, c->received, "ontent-", 7);
	for (; length && strncasecmp(length, "ontent-length:", 14);)
		length = memmem(length + 1, c->received - (size_t)(length + 1 - c->reply),
				"ontent-", 7);
	size_t n = (size_t)(end + 4 - c->reply) + (length ? strtoul(length + 14, NULL, 10) : 0);

	return n <= c->received ? n : 0;
}

/* One upload is done: count it, and begin the next on this connection. */
static void complete(struct connection *c)
{
	latencies[finished++] = now() - c->started;
	bytes += c->body->n;
	if (strncmp(c->reply, "HTTP/1.1 200", 12) != 0 && !failed++)
		fprintf(stderr, "load: %.*s\n", (int)c->received, c->reply);
	if (next_upload < uploads) {
		begin(c);
		push(c);
	} else {
		c->body = NULL;
	}
}

static void pull(struct connection *c)
{
	while (c->body && c->received < sizeof(c->reply)) {
		ssize_t n = read(c->fd, c->reply + c->received, sizeof(c->reply) - c->received);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			die("the server ended the connection");
		c->received += (size_t)n;
		if (answer_length(c))
			complete(c);
	}
}

static int dial(const char *address)
{
	char host[64];
	const char *colon = strrchr(address, ':');
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	to.sin_port = htons((uint16_t)atoi(colon + 1));
	if (fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(address);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(double elapsed)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	qsort(latencies, finished, sizeof(*latencies), compare);
	printf("{\"uploads\":%zu,\"failed\":%zu,\"seconds\":%.4f,\"megabytes\":%.3f,"
	       "\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"driver_cpu_s\":%.3f}\n",
	       finished, failed, elapsed, (double)bytes / 1e6, latencies[finished / 2] * 1e3,
	       latencies[finished * 99 / 100] * 1e3, latencies[finished - 1] * 1e3,
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "-i") == 0 && atoi(argv[2]) > 0) {
		instances = (size_t)atoi(argv[2]);
		argv += 2;
		argc -= 2;
	}
	size_t connections = argc > 5 ? (size_t)atoi(argv[2]) : 0;
	struct connection *all = calloc(connections + 1, sizeof(*all));
	int loop = epoll_create1(0);

	if (argc < 6 || argc - 5 > MAX_SERVICES) {
		fprintf(stderr, "usage: load [-i INSTANCES] HOST:PORT CONNECTIONS UPLOADS "
				"START_SECONDS DIR...\n");
		return 64;
	}
	services = calloc(MAX_SERVICES, sizeof(*services));
	uploads = (size_t)atol(argv[3]);
	start_seconds = atol(argv[4]);
	latencies = calloc(uploads + 1, sizeof(*latencies));
	if (!all || !services || !latencies)
		die("memory");
	for (int i = 5; i < argc; i++)
		read_service(argv[i]);
	double started = now();

	for (size_t i = 0; i < connections && next_upload < uploads; i++) {
		struct epoll_event e = {EPOLLIN | EPOLLOUT | EPOLLET, {.ptr = &all[i]}};

		all[i].fd = dial(argv[1]);
		if (fcntl(all[i].fd, F_SETFL, O_NONBLOCK) ||
		    epoll_ctl(loop, EPOLL_CTL_ADD, all[i].fd, &e))
			die("epoll");
		begin(&all[i]);
		push(&all[i]);
	}
	while (finished < uploads) {
		struct epoll_event events[64];
		int n = epoll_wait(loop, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (c->body && events[i].events & EPOLLOUT)
				push(c);
			if (c->body && events[i].events & EPOLLIN)
				pull(c);
		}
	}
	report(now() - started);
	return failed != 0;
}
