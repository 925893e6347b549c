/* The functions of include/vestal.h. */
#include "vestal.h"

#include <stdio.h>
#include <string.h>

#include "sdk/background.h"
#include "sdk/last_error.h"

#define STOP_LIMIT_MS 10000

/* There is one; its address is the handle. */
struct vestal {
	char unused;
};

static struct vestal only;
static __thread char error_text[256] __attribute__((tls_model("initial-exec")));

int last_error_set(const struct fault *f, enum err e)
{
	snprintf(error_text, sizeof(error_text), "%.255s", f->text[0] ? f->text : err_text(e));
	return -1;
}

const char *vestal_last_error(void)
{
	return error_text;
}

const char *vestal_version(void)
{
	return VESTAL_VERSION;
}

int vestal_start(const struct vestal_options *options, struct vestal **ret)
{
	struct fault fault = {0};
	struct sdk_settings settings;
	enum err e = sdk_settings_read(options, &settings, &fault);

	error_text[0] = 0;
	/* Allocations and locks are seen by what stands in front of libc. */
	settings.types &= SDK_TIMERS | sdk_front_types;
	if (!e && !settings.types)
		e = fault_set(&fault, ERR_UNSUPPORTED,
			      "VESTAL_TYPES has no supported type: allocations and locks require "
			      "LD_PRELOAD=libvestal-preload.so, or the options of pkg-config "
			      "--static --libs vestal");
	if (!e)
		e = background_start(&settings, &fault);
	if (e)
		return last_error_set(&fault, e);
	if (ret)
		*ret = &only;
	return 0;
}

void vestal_stop(struct vestal *v)
{
	if (v == &only)
		background_stop(STOP_LIMIT_MS);
}

void vestal_counts_get(const struct vestal *v, struct vestal_counts *ret)
{
	struct background_counts now = background_counts();
	struct vestal_counts all = {ret->size, now.samples, now.lost, now.delivered, now.given_up};

	(void)v;
	if (ret->size >= sizeof(size_t))
		memcpy(ret, &all, ret->size < sizeof(all) ? ret->size : sizeof(all));
}
