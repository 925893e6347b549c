/*
 * OpenSSL, loaded when the first server with a certificate starts: loading it takes longer than
 * starting the file tool. Functions are called as `ssl->SSL_new(…)`.
 */
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>

#include "base/err.h"

#define TLS_FUNCTIONS(F)                       \
	F(BIO_ctrl)                            \
	F(BIO_free)                            \
	F(BIO_new)                             \
	F(BIO_s_mem)                           \
	F(ERR_clear_error)                     \
	F(ERR_peek_error)                      \
	F(ERR_peek_last_error)                 \
	F(ERR_reason_error_string)             \
	F(SSL_CTX_check_private_key)           \
	F(SSL_CTX_ctrl)                        \
	F(SSL_CTX_free)                        \
	F(SSL_CTX_load_verify_file)            \
	F(SSL_CTX_new)                         \
	F(SSL_CTX_set_alpn_select_cb)          \
	F(SSL_CTX_set_client_CA_list)          \
	F(SSL_CTX_set_default_passwd_cb)       \
	F(SSL_CTX_set_default_read_buffer_len) \
	F(SSL_CTX_set_options)                 \
	F(SSL_CTX_set_session_id_context)      \
	F(SSL_CTX_set_verify)                  \
	F(SSL_CTX_use_PrivateKey_file)         \
	F(SSL_CTX_use_certificate_chain_file)  \
	F(SSL_accept)                          \
	F(SSL_free)                            \
	F(SSL_get0_alpn_selected)              \
	F(SSL_get0_peer_certificate)           \
	F(SSL_get_error)                       \
	F(SSL_get_verify_result)               \
	F(SSL_load_client_CA_file)             \
	F(SSL_new)                             \
	F(SSL_read_ex)                         \
	F(SSL_select_next_proto)               \
	F(SSL_set_fd)                          \
	F(SSL_shutdown)                        \
	F(SSL_write_ex)                        \
	F(TLS_server_method)                   \
	F(X509_NAME_print_ex)                  \
	F(X509_get_subject_name)

struct tls_library {
#define F(name) __typeof__(&name) name;
	TLS_FUNCTIONS(F)
#undef F
};

/* Thread safe; the library is never unloaded. */
enum err tls_library_load(const struct tls_library **ret, struct fault *fault) MUST_CHECK;
