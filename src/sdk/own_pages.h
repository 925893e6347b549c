/* Memory from the system that is never freed, for tables that signal handlers and other threads
 * access at any time. */
#pragma once

#include <stddef.h>

/* Zeroed; pages take memory only when touched. NULL if out of memory. */
void *own_pages(size_t size);
