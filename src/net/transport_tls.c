#include "net/transport_tls.h"

#include "base/alloc.h"

#define RECORD (16u << 10) /* the most that travels in one piece */

struct tls_state {
	const struct tls_library *ssl;
	SSL *connection;
	char *subject;
	bool failed; /* nothing more may be said, not even goodbye */
};

static enum io_status status_of(struct tls_state *state, int result)
{
	switch (state->ssl->SSL_get_error(state->connection, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return IO_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return IO_END;
	default:
		state->failed = true;
		return IO_FAILED;
	}
}

/* "CN=agent,O=Example", as RFC 4514 writes it. */
static char *subject_of(const struct tls_library *ssl, const X509 *certificate)
{
	BIO *bio = ssl->BIO_new(ssl->BIO_s_mem());
	char *text, *copy = NULL;
	long n;

	if (!bio)
		return NULL;
	if (ssl->X509_NAME_print_ex(bio, ssl->X509_get_subject_name(certificate), 0,
				    XN_FLAG_RFC2253) >= 0) {
		n = ssl->BIO_ctrl(bio, BIO_CTRL_INFO, 0, &text);
		copy = mem_strndup(text, n > 0 ? (size_t)n : 0);
	}
	ssl->BIO_free(bio);
	return copy;
}

static enum io_status handshake(struct transport *t)
{
	struct tls_state *state = t->state;
	const X509 *certificate;
	int result;

	state->ssl->ERR_clear_error();
	result = state->ssl->SSL_accept(state->connection);
	if (result != 1)
		return status_of(state, result);
	certificate = state->ssl->SSL_get0_peer_certificate(state->connection);
	if (certificate && state->ssl->SSL_get_verify_result(state->connection) == X509_V_OK) {
		state->subject = subject_of(state->ssl, certificate);
		/* The subject may determine access: fail without it. */
		if (!state->subject)
			return IO_FAILED;
	}
	return IO_OK;
}

static enum io_status tls_read(struct transport *t, void *room, size_t n, size_t *ret_n)
{
	struct tls_state *state = t->state;

	state->ssl->ERR_clear_error();
	if (state->ssl->SSL_read_ex(state->connection, room, n, ret_n) == 1)
		return IO_OK;
	return status_of(state, 0);
}

/*
 * Combines small pieces into one record. After IO_AGAIN, OpenSSL requires at least the same bytes
 * again, which is the case because the queue only grows.
 */
static enum io_status tls_write(struct transport *t, const struct iovec *parts, int count,
				size_t *ret_n)
{
	struct tls_state *state = t->state;
	const void *from = count ? parts[0].iov_base : NULL;
	size_t n = count ? parts[0].iov_len : 0;
	char joined[RECORD];

	if (n < RECORD && count > 1) {
		n = 0;
		for (int i = 0; i < count && n < RECORD; i++) {
			size_t part = parts[i].iov_len;

			if (part > RECORD - n)
				part = RECORD - n;
			memcpy(joined + n, parts[i].iov_base, part);
			n += part;
		}
		from = joined;
	}
	state->ssl->ERR_clear_error();
	if (state->ssl->SSL_write_ex(state->connection, from, n, ret_n) == 1)
		return IO_OK;
	return status_of(state, 0);
}

static void tls_end(struct transport *t)
{
	struct tls_state *state = t->state;

	if (state->failed)
		return;
	state->ssl->ERR_clear_error();
	state->ssl->SSL_shutdown(state->connection);
}

static void tls_release(struct transport *t)
{
	struct tls_state *state = t->state;

	if (!state)
		return;
	state->ssl->SSL_free(state->connection);
	mem_free(state->subject);
	mem_free(state);
	t->state = NULL;
}

static struct str protocol(struct transport *t)
{
	struct tls_state *state = t->state;
	const unsigned char *name = NULL;
	unsigned n = 0;

	state->ssl->SSL_get0_alpn_selected(state->connection, &name, &n);
	return str_n(name, n);
}

static struct str certificate(struct transport *t)
{
	return str_of(((struct tls_state *)t->state)->subject);
}

static const struct transport_ops tls_ops = {
	.either_way = true,
	.handshake = handshake,
	.read = tls_read,
	.write = tls_write,
	.end = tls_end,
	.release = tls_release,
	.protocol = protocol,
	.certificate = certificate,
};

enum err transport_tls_init(struct transport *t, const struct tls_library *ssl, SSL *connection,
			    int fd)
{
	struct tls_state *state = mem_zalloc(1, sizeof(*state));

	if (!state || ssl->SSL_set_fd(connection, fd) != 1) {
		ssl->SSL_free(connection);
		mem_free(state);
		return ERR_NO_MEMORY;
	}
	state->ssl = ssl;
	state->connection = connection;
	*t = (struct transport){.ops = &tls_ops, .fd = fd, .state = state};
	return ERR_OK;
}
