/*
 * The floor that the server's cost of an upload is compared with: takes the same requests from the
 * same driver on the same sockets, inflates every body with libdeflate and answers 200, nothing
 * else. Ends with its standard input, and prints one line of JSON: processor time of the inflating
 * alone, and of the whole.
 *
 *	floor [THREADS]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS  16
#define EVENTS	     8
#define REQUEST_ROOM ((size_t)4 << 20)
#define PLAIN_ROOM   ((size_t)64 << 20)

struct client {
	int fd;
	char *request;
	size_t n;
};

struct worker {
	pthread_t thread;
	int epoll;
	struct libdeflate_decompressor *inflater;
	char *plain;
	double inflating;
	uint64_t bytes, uploads;
};

static int listener;

static void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Where the body begins and how long it is; false when the head is not complete. */
static int find_body(const struct client *c, size_t *ret_at, size_t *ret_n)
{
	const char *end = memmem(c->request, c->n, "\r\n\r\n", 4);
	const char *length = memmem(c->request, c->n, "Content-Length: ", 16);

	if (!end)
		return 0;
	if (!length || length > end)
		die("a request without Content-Length");
	*ret_at = (size_t)(end + 4 - c->request);
	*ret_n = strtoul(length + 16, NULL, 10);
	return 1;
}

static void inflate(struct worker *w, const char *body, size_t n)
{
	double start = thread_seconds();
	size_t made;

	if (libdeflate_gzip_decompress(w->inflater, body, n, w->plain, PLAIN_ROOM, &made))
		die("a body that is no gzip");
	w->inflating += thread_seconds() - start;
	w->bytes += n;
	w->uploads++;
}

static void answer(const struct client *c)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

	if (write(c->fd, reply, sizeof(reply) - 1) != (ssize_t)sizeof(reply) - 1)
		die("write");
}

static void hang_up(struct client *c)
{
	close(c->fd);
	free(c->request);
	free(c);
}

static void serve(struct worker *w, struct client *c)
{
	size_t at, n;

	for (;;) {
		ssize_t got = read(c->fd, c->request + c->n, REQUEST_ROOM - c->n);

		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			hang_up(c);
			return;
		}
		c->n += (size_t)got;
		if (!find_body(c, &at, &n) || c->n < at + n)
			continue;
		inflate(w, c->request + at, n);
		c->n = 0;
		answer(c);
	}
}

static void take_client(const struct worker *w)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	struct client *c = fd < 0 ? NULL : calloc(1, sizeof(*c));
	struct epoll_event e = {EPOLLIN | EPOLLET, {.ptr = c}};

	if (!c)
		return;
	c->fd = fd;
	c->request = malloc(REQUEST_ROOM);
	if (!c->request || epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e))
		die("a client");
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(w->epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				serve(w, events[i].data.ptr);
			else
				take_client(w);
		}
	}
	return NULL;
}

static void begin(struct worker *w)
{
	struct epoll_event e = {EPOLLIN | EPOLLEXCLUSIVE, {.ptr = NULL}};

	w->epoll = epoll_create1(0);
	w->inflater = libdeflate_alloc_decompressor();
	w->plain = malloc(PLAIN_ROOM);
	if (!w->inflater || !w->plain || epoll_ctl(w->epoll, EPOLL_CTL_ADD, listener, &e) ||
	    pthread_create(&w->thread, NULL, work, w))
		die("a thread");
}

static void listen_somewhere(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, size) || listen(listener, 512) ||
	    getsockname(listener, (struct sockaddr *)&a, &size))
		die("listen");
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
}

static void report(const struct worker *workers, int n)
{
	double inflating = 0;
	uint64_t bytes = 0, uploads = 0;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	for (int i = 0; i < n; i++) {
		inflating += workers[i].inflating;
		bytes += workers[i].bytes;
		uploads += workers[i].uploads;
	}
	printf("{\"uploads\":%zu,\"megabytes\":%.3f,\"inflate_s\":%.4f,\"cpu_s\":%.4f}\n",
	       (size_t)uploads, (double)bytes / 1e6, inflating,
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	char byte;

	if (threads < 1 || threads > MAX_THREADS)
		die("threads");
	listen_somewhere();
	for (int i = 0; i < threads; i++)
		begin(&workers[i]);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	report(workers, threads);
	return 0;
}
