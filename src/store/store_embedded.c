/*
 * The engine in files, not part of this build.
 */
#include "store/store_engine.h"

enum err store_embedded_open(const struct store_options *options, struct store **ret,
			     struct fault *fault)
{
	(void)ret;
	return fault_set(fault, ERR_UNSUPPORTED,
			 "\"%s\" cannot be opened: stores in files are not "
			 "supported by this build",
			 options->directory);
}

enum err store_embedded_check(const char *directory,
			      void (*each)(void *context, const char *problem), void *context,
			      uint64_t *ret_checked, struct fault *fault)
{
	(void)each;
	(void)context;
	(void)ret_checked;
	return fault_set(fault, ERR_UNSUPPORTED,
			 "\"%s\" cannot be checked: stores in files are not "
			 "supported by this build",
			 directory);
}
