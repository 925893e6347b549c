/* Memory from the system that is never given back: tables that signal handlers and other threads
 * look into at any time. */
#pragma once

#include <stddef.h>

/* Zeroed; costs memory only where it is touched, page by page. NULL when there is none. */
void *own_pages(size_t size);
