#include "net/tls_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
/* The one whose headers this was built with. */
#define SONAME	   "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

static struct tls_library loaded;
static bool ready;

/* ISO C has no conversion from object to function pointers; POSIX promises they look alike. */
static bool symbol(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
	return address != NULL;
}

/* libcrypto comes with libssl: its functions are found there too. */
static void load(void)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	ready = library != NULL;
#define F(name) ready = ready && symbol(library, #name, &loaded.name);
	TLS_FUNCTIONS(F)
#undef F
}

enum err tls_library_load(const struct tls_library **ret, struct fault *fault)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (!ready)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "TLS needs OpenSSL (%s), which is not installed (apt install "
				 "libssl3)",
				 SONAME);
	*ret = &loaded;
	return ERR_OK;
}
