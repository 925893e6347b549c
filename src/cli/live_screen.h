/*
 * The whole terminal, for a view that is painted again and again: raw keys, the alternate screen,
 * and the way back, whatever ends the program.
 */
#pragma once

#include "base/buf.h"

enum screen_key {
	KEY_NONE = 0, /* nothing was typed in time */
	/* A byte is itself. */
	KEY_ESCAPE = 0x100,
	KEY_UP,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_OTHER, /* a sequence that means nothing here */
	KEY_GONE,  /* somebody wants us to end, or the terminal is gone */
};

/* False when standard input or output is no terminal. */
bool screen_open(void);
void screen_close(void);
void screen_size(unsigned *ret_columns, unsigned *ret_rows);
/* Lines of text, '\n' between them; what was there before is replaced without flicker. */
void screen_paint(struct str text);
/* Waits that long; a change of the size wakes it too (KEY_NONE). */
int screen_key(int milliseconds);
/* What the bytes a terminal sends mean; `*used` is how many of them. */
int screen_decode(const char *bytes, size_t n, size_t *used);
