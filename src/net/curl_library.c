#include "net/curl_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/thread.h"

static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

/* ISO C has no conversion from object to function pointers; POSIX promises they look alike. */
static bool symbol(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
	return address != NULL;
}

static bool resolve_multi(void *library, struct curl_library *c)
{
	return symbol(library, "curl_multi_init", &c->multi_init) &&
	       symbol(library, "curl_multi_add_handle", &c->multi_add) &&
	       symbol(library, "curl_multi_remove_handle", &c->multi_remove) &&
	       symbol(library, "curl_multi_perform", &c->multi_perform) &&
	       symbol(library, "curl_multi_poll", &c->multi_poll) &&
	       symbol(library, "curl_multi_wakeup", &c->multi_wakeup) &&
	       symbol(library, "curl_multi_info_read", &c->multi_read) &&
	       symbol(library, "curl_multi_cleanup", &c->multi_cleanup);
}

static bool resolve(void *library, struct curl_library *c)
{
	CURLcode (*global_init)(long flags);

	return symbol(library, "curl_global_init", &global_init) &&
	       symbol(library, "curl_easy_init", &c->init) &&
	       symbol(library, "curl_easy_setopt", &c->setopt) &&
	       symbol(library, "curl_easy_perform", &c->perform) &&
	       symbol(library, "curl_easy_getinfo", &c->getinfo) &&
	       symbol(library, "curl_easy_cleanup", &c->cleanup) &&
	       symbol(library, "curl_easy_strerror", &c->strerror) &&
	       symbol(library, "curl_slist_append", &c->append) &&
	       symbol(library, "curl_slist_free_all", &c->free_list) && resolve_multi(library, c) &&
	       global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

enum err curl_library_load(const struct curl_library **ret, struct fault *fault)
{
	static struct mutex loading = MUTEX_INIT;
	static struct curl_library loaded;
	static bool ready;
	bool usable;

	mutex_lock(&loading);
	for (size_t i = 0; !ready && i < sizeof(sonames) / sizeof(sonames[0]); i++) {
		void *library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);

		if (library && resolve(library, &loaded))
			ready = true;
		else if (library)
			dlclose(library);
	}
	usable = ready;
	mutex_unlock(&loading);
	if (!usable)
		return fault_set(
			fault, ERR_UNSUPPORTED,
			"URLs need libcurl, which is not installed (apt install libcurl4)");
	*ret = &loaded;
	return ERR_OK;
}
