#include <stdarg.h>
#include <stdio.h>

#include "format/format.h"

#define MAX_NOTES 100

/* A hostile file can ask for the same note a hundred million times: one without arguments is found
 * by its address. */
static bool count_again(struct notes *n, const char *format)
{
	if (strchr(format, '%'))
		return false;
	vec_for_each (known, &n->list) {
		if (known->format == format) {
			known->count++;
			return true;
		}
	}
	return false;
}

void notes_add(struct notes *n, const char *format, ...)
{
	struct note note = {.format = format, .count = 1};
	va_list args;

	if (count_again(n, format))
		return;
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
