/* Instead of post_tls.c in programs that are linked statically: they cannot open OpenSSL. */
#include "sdk/post_tls.h"

bool post_tls_possible(void)
{
	return false;
}

enum err post_tls_new(const struct post_tls_settings *s, int fd, struct post_tls **ret)
{
	(void)s;
	(void)fd;
	(void)ret;
	return ERR_UNSUPPORTED;
}

void post_tls_free(struct post_tls *t)
{
	(void)t;
}

ssize_t post_tls_shake(struct post_tls *t, short *ret_events)
{
	(void)t;
	(void)ret_events;
	return -1;
}

ssize_t post_tls_send(struct post_tls *t, const void *data, size_t n, short *ret_events)
{
	(void)data;
	(void)n;
	return post_tls_shake(t, ret_events);
}

ssize_t post_tls_receive(struct post_tls *t, void *data, size_t n, short *ret_events)
{
	(void)data;
	(void)n;
	return post_tls_shake(t, ret_events);
}

void post_tls_on_load(void (*loaded)(void))
{
	(void)loaded;
}

void post_tls_before_fork(void)
{
}

void post_tls_after_fork(void)
{
}
