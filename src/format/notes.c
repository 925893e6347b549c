#include <stdarg.h>
#include <stdio.h>

#include "format/format.h"

#define MAX_NOTES 100

void notes_add(struct notes *n, const char *format, ...)
{
	struct note note = {.count = 1};
	va_list args;

	va_start(args, format);
	vsnprintf(note.text, sizeof(note.text), format, args);
	va_end(args);
	vec_for_each (known, &n->list) {
		if (strcmp(known->text, note.text) == 0) {
			known->count++;
			return;
		}
	}
	if (n->list.n < MAX_NOTES)
		(void)!vec_push(&n->list, note);
}

void notes_release(struct notes *n)
{
	if (n)
		vec_release(&n->list);
}
