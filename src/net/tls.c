#include "net/tls.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "net/tls_library.h"
#include "net/transport_tls.h"

struct tls {
	const struct tls_library *ssl;
	struct mutex lock; /* of `context` */
	SSL_CTX *context;
	char *certificate, *key, *client_ca;
	bool require_client;
};

/*
 * OpenSSL's first error; later entries only name the callers. For a file of another type it only
 * reports a missing line, or that it is not supported.
 */
static const char *reason(const struct tls_library *ssl, const char *expected)
{
	unsigned long code = ssl->ERR_peek_error();
	const char *text;

	if (ERR_SYSTEM_ERROR(code))
		return strerror(ERR_GET_REASON(code));
	if (!code || ERR_GET_LIB(code) == ERR_LIB_PEM ||
	    ERR_GET_REASON(code) == ERR_R_UNSUPPORTED ||
	    ERR_GET_REASON(code) == ERR_R_INTERRUPTED_OR_CANCELLED)
		return expected;
	text = ssl->ERR_reason_error_string(code);
	return text ? text : expected;
}

/* Without it OpenSSL would ask on the terminal. */
static int no_password(char *room, int n, int writing, void *context)
{
	(void)room, (void)n, (void)writing, (void)context;
	return -1;
}

/* The server's preference decides; a client that supports neither gets an alert. */
static int choose_protocol(SSL *connection, const unsigned char **ret, unsigned char *ret_n,
			   const unsigned char *offered, unsigned int offered_n, void *context)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	const struct tls_library *ssl = context;
	unsigned char *chosen;

	(void)connection;
	if (ssl->SSL_select_next_proto(&chosen, ret_n, ours, sizeof(ours) - 1, offered,
				       offered_n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static enum err load_certificate(const struct tls *t, SSL_CTX *context, struct fault *fault)
{
	const struct tls_library *ssl = t->ssl;

	if (ssl->SSL_CTX_use_certificate_chain_file(context, t->certificate) != 1)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the certificate %s cannot be used: %s",
				 t->certificate,
				 reason(ssl, "it contains no certificate in PEM format"));
	ssl->ERR_clear_error();
	if (ssl->SSL_CTX_use_PrivateKey_file(context, t->key, SSL_FILETYPE_PEM) != 1) {
		if (ERR_GET_REASON(ssl->ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
		    ERR_GET_REASON(ssl->ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "the certificate %s does not match the key %s",
					 t->certificate, t->key);
		return fault_set(
			fault, ERR_BAD_ARGUMENT, "the key %s cannot be used: %s", t->key,
			reason(ssl, "it contains no private key in PEM format without a password"));
	}
	if (ssl->SSL_CTX_check_private_key(context) != 1)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the certificate %s does not match the key %s", t->certificate,
				 t->key);
	return ERR_OK;
}

static enum err load_client_ca(const struct tls *t, SSL_CTX *context, struct fault *fault)
{
	const struct tls_library *ssl = t->ssl;
	int mode = SSL_VERIFY_PEER;
	STACK_OF(X509_NAME) * names;

	if (!t->client_ca)
		return ERR_OK;
	ssl->ERR_clear_error();
	names = ssl->SSL_load_client_CA_file(t->client_ca);
	if (!names || ssl->SSL_CTX_load_verify_file(context, t->client_ca) != 1)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the certificates for clients in %s cannot be used: %s",
				 t->client_ca,
				 reason(ssl, "it contains no certificate in PEM format"));
	ssl->SSL_CTX_set_client_CA_list(context, names);
	if (t->require_client)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	ssl->SSL_CTX_set_verify(context, mode, NULL);
	return ERR_OK;
}

static enum err configure(const struct tls *t, SSL_CTX *context, struct fault *fault)
{
	const struct tls_library *ssl = t->ssl;

	ssl->SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	/* A request says itself where it ends: a missing farewell is nothing to fail for. */
	ssl->SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
						  SSL_OP_IGNORE_UNEXPECTED_EOF);
	ssl->SSL_CTX_ctrl(context, SSL_CTRL_MODE,
			  SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				  SSL_MODE_RELEASE_BUFFERS,
			  NULL);
	ssl->SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	ssl->SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, NULL);
	ssl->SSL_CTX_set_default_read_buffer_len(context, TLS_READ_AHEAD);
	ssl->SSL_CTX_set_session_id_context(context, (const unsigned char *)"vestal", 6);
	ssl->SSL_CTX_set_default_passwd_cb(context, no_password);
	ssl->SSL_CTX_set_alpn_select_cb(context, choose_protocol, (void *)(uintptr_t)ssl);
	TRY(load_certificate(t, context, fault));
	return load_client_ca(t, context, fault);
}

/* Tells a missing file from a broken one before OpenSSL does, in words of our own. */
static enum err check_readable(const char *what, const char *path, struct fault *fault)
{
	if (!path || access(path, R_OK) == 0)
		return ERR_OK;
	return fault_set(fault, err_from_errno(errno), "%s %s cannot be read: %s", what, path,
			 strerror(errno));
}

enum err tls_reload(struct tls *t, struct fault *fault)
{
	SSL_CTX *fresh, *old;
	enum err e;

	TRY(check_readable("the certificate", t->certificate, fault));
	TRY(check_readable("the key", t->key, fault));
	TRY(check_readable("the file of certificates for clients", t->client_ca, fault));
	t->ssl->ERR_clear_error();
	fresh = t->ssl->SSL_CTX_new(t->ssl->TLS_server_method());
	if (!fresh)
		return ERR_NO_MEMORY;
	e = configure(t, fresh, fault);
	t->ssl->ERR_clear_error();
	if (e) {
		t->ssl->SSL_CTX_free(fresh);
		return e;
	}
	mutex_lock(&t->lock);
	old = t->context;
	t->context = fresh;
	mutex_unlock(&t->lock);
	/* Connections have references of their own. */
	t->ssl->SSL_CTX_free(old);
	return ERR_OK;
}

static enum err copy_path(const char *from, char **to)
{
	if (!from)
		return ERR_OK;
	*to = mem_strdup(from);
	return *to ? ERR_OK : ERR_NO_MEMORY;
}

static enum err set_up(struct tls *t, const struct tls_options *options, struct fault *fault)
{
	if (!options->certificate || !options->key)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "TLS needs both a certificate and its key");
	if (options->require_client && !options->client_ca)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "client certificates are required, but no CA file is given");
	t->require_client = options->require_client;
	TRY(copy_path(options->certificate, &t->certificate));
	TRY(copy_path(options->key, &t->key));
	TRY(copy_path(options->client_ca, &t->client_ca));
	TRY(tls_library_load(&t->ssl, fault));
	return tls_reload(t, fault);
}

enum err tls_new(const struct tls_options *options, struct tls **ret, struct fault *fault)
{
	struct tls *t = mem_zalloc(1, sizeof(*t));
	enum err e;

	if (!t)
		return ERR_NO_MEMORY;
	mutex_init(&t->lock);
	e = set_up(t, options, fault);
	if (e)
		tls_free(t);
	else
		*ret = t;
	return e;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->context)
		t->ssl->SSL_CTX_free(t->context);
	mutex_release(&t->lock);
	mem_free(t->certificate);
	mem_free(t->key);
	mem_free(t->client_ca);
	mem_free(t);
}

enum err tls_accept(struct tls *t, int fd, struct transport *ret)
{
	SSL *connection;

	mutex_lock(&t->lock);
	connection = t->ssl->SSL_new(t->context);
	mutex_unlock(&t->lock);
	if (!connection)
		return ERR_NO_MEMORY;
	return transport_tls_init(ret, t->ssl, connection, fd);
}
