#include "sdk/post_tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

/* Of openssl/err.h, whose names are like those of base/err.h. */
void ERR_clear_error(void);

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
/* The one whose headers this was built with. */
#define SONAME	   "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

#define FUNCTIONS(F)                          \
	F(OPENSSL_init_ssl)                   \
	F(TLS_client_method)                  \
	F(SSL_CTX_new)                        \
	F(SSL_CTX_free)                       \
	F(SSL_CTX_ctrl)                       \
	F(SSL_CTX_set_verify)                 \
	F(SSL_CTX_set_default_verify_paths)   \
	F(SSL_CTX_load_verify_locations)      \
	F(SSL_CTX_use_certificate_chain_file) \
	F(SSL_CTX_use_PrivateKey_file)        \
	F(SSL_new)                            \
	F(SSL_free)                           \
	F(SSL_set_fd)                         \
	F(SSL_ctrl)                           \
	F(SSL_set1_host)                      \
	F(SSL_get0_param)                     \
	F(X509_VERIFY_PARAM_set1_ip_asc)      \
	F(SSL_connect)                        \
	F(SSL_read)                           \
	F(SSL_write)                          \
	F(SSL_get_error)                      \
	F(ERR_clear_error)

static struct {
	bool tried, ready;
	void (*loaded)(void);
	/* Held around every call into OpenSSL, and while the host forks: its child may use OpenSSL
	 * itself, and would wait for ever for a lock that our thread held. */
	struct mutex inside;
#define F(name) typeof(name) *name;
	FUNCTIONS(F)
#undef F
} ssl = {.inside = MUTEX_INIT};

struct post_tls {
	SSL_CTX *context;
	SSL *connection;
};

/* ------------------------------------------------------------------ the library */

/* A program that exports another OpenSSL would interpose its functions on the loaded library,
 * mixing two versions. */
static bool is_host_free(void)
{
	void *found = dlsym(RTLD_DEFAULT, "SSL_CTX_new");
	const char *name;
	Dl_info where;

	if (!found)
		return true;
	if (!dladdr(found, &where) || !where.dli_fname)
		return false;
	name = strrchr(where.dli_fname, '/');
	return strcmp(name ? name + 1 : where.dli_fname, SONAME) == 0;
}

static bool symbol(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
	return address != NULL;
}

/* With the lock held. */
static void load(void)
{
	void *library;

	ssl.tried = true;
	if (!is_host_free())
		return;
	library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	ssl.ready = library != NULL;
#define F(name) ssl.ready = ssl.ready && symbol(library, #name, &ssl.name);
	FUNCTIONS(F)
#undef F
	/* It would clean up at exit() before the last profile is sent. A host that has begun to
	 * use it before us has decided otherwise: then our end is registered after its. */
	if (ssl.ready)
		ssl.ready = ssl.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
	if (ssl.ready && ssl.loaded)
		ssl.loaded();
}

bool post_tls_possible(void)
{
	return true;
}

void post_tls_on_load(void (*loaded)(void))
{
	ssl.loaded = loaded;
}

void post_tls_before_fork(void)
{
	mutex_lock(&ssl.inside);
}

void post_tls_after_fork(void)
{
	mutex_unlock(&ssl.inside);
}

/* ------------------------------------------------------------------ a connection */

static bool trust(SSL_CTX *c, const struct post_tls_settings *s)
{
	if (s->ca[0] ? ssl.SSL_CTX_load_verify_locations(c, s->ca, NULL) != 1
		     : ssl.SSL_CTX_set_default_verify_paths(c) != 1)
		return false;
	ssl.SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	if (ssl.SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) != 1)
		return false;
	if (!s->certificate[0])
		return true;
	return ssl.SSL_CTX_use_certificate_chain_file(c, s->certificate) == 1 &&
	       ssl.SSL_CTX_use_PrivateKey_file(c, s->key[0] ? s->key : s->certificate,
					       SSL_FILETYPE_PEM) == 1;
}

/* A certificate is for a name or for a number. */
static bool expect(SSL *c, const char *host)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
		return ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(c), host) == 1;
	return ssl.SSL_ctrl(c, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			    (char *)(uintptr_t)host) == 1 &&
	       ssl.SSL_set1_host(c, host) == 1;
}

static enum err prepare(struct post_tls *t, const struct post_tls_settings *s, int fd)
{
	if (!ssl.tried)
		load();
	if (!ssl.ready)
		return ERR_UNSUPPORTED;
	t->context = ssl.SSL_CTX_new(ssl.TLS_client_method());
	/* After a host's exit() OpenSSL gives nothing any more. */
	if (!t->context)
		return ERR_UNAVAILABLE;
	if (!trust(t->context, s))
		return ERR_BAD_ARGUMENT;
	t->connection = ssl.SSL_new(t->context);
	if (!t->connection)
		return ERR_NO_MEMORY;
	ssl.SSL_ctrl(t->connection, SSL_CTRL_MODE,
		     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
	if (ssl.SSL_set_fd(t->connection, fd) != 1 || !expect(t->connection, s->host))
		return ERR_UNAVAILABLE;
	return ERR_OK;
}

enum err post_tls_new(const struct post_tls_settings *s, int fd, struct post_tls **ret)
{
	struct post_tls *t = mem_zalloc(1, sizeof(*t));
	enum err e;

	if (!t)
		return ERR_NO_MEMORY;
	mutex_lock(&ssl.inside);
	e = prepare(t, s, fd);
	mutex_unlock(&ssl.inside);
	if (e)
		post_tls_free(t);
	else
		*ret = t;
	return e;
}

void post_tls_free(struct post_tls *t)
{
	if (!t)
		return;
	mutex_lock(&ssl.inside);
	if (t->connection)
		ssl.SSL_free(t->connection);
	if (t->context)
		ssl.SSL_CTX_free(t->context);
	mutex_unlock(&ssl.inside);
	mem_free(t);
}

/* ------------------------------------------------------------------ steps */

/* With the lock held, as what follows. */
static ssize_t outcome(struct post_tls *t, int n, short *ret_events)
{
	if (n > 0)
		return n;
	switch (ssl.SSL_get_error(t->connection, n)) {
	case SSL_ERROR_WANT_READ:
		*ret_events = POLLIN;
		return POST_TLS_WAIT;
	case SSL_ERROR_WANT_WRITE:
		*ret_events = POLLOUT;
		return POST_TLS_WAIT;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return -1;
	}
}

ssize_t post_tls_shake(struct post_tls *t, short *ret_events)
{
	ssize_t n;

	mutex_lock(&ssl.inside);
	ssl.ERR_clear_error();
	n = outcome(t, ssl.SSL_connect(t->connection), ret_events);
	mutex_unlock(&ssl.inside);
	return n;
}

ssize_t post_tls_send(struct post_tls *t, const void *data, size_t size, short *ret_events)
{
	ssize_t n;

	mutex_lock(&ssl.inside);
	ssl.ERR_clear_error();
	n = outcome(t, ssl.SSL_write(t->connection, data, size < INT_MAX ? (int)size : INT_MAX),
		    ret_events);
	mutex_unlock(&ssl.inside);
	return n;
}

ssize_t post_tls_receive(struct post_tls *t, void *data, size_t size, short *ret_events)
{
	ssize_t n;

	mutex_lock(&ssl.inside);
	ssl.ERR_clear_error();
	n = outcome(t, ssl.SSL_read(t->connection, data, size < INT_MAX ? (int)size : INT_MAX),
		    ret_events);
	mutex_unlock(&ssl.inside);
	return n;
}
