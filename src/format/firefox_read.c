#include "format/firefox.h"
enum err firefox_read(struct str bytes, struct reading *out)
{
	(void)bytes;
	return fault_set(&out->fault, ERR_UNSUPPORTED, "Firefox profiles are not read yet");
}
