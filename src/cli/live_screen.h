/*
 * Full-screen terminal output: raw keys and the alternate screen; the terminal is restored however
 * the program ends.
 */
#pragma once

#include "base/buf.h"

enum screen_key {
	KEY_NONE = 0, /* timeout */
	/* Bytes are returned unchanged. */
	KEY_ESCAPE = 0x100,
	KEY_UP,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_OTHER, /* unknown escape sequence */
	KEY_GONE,  /* a signal to terminate, or the terminal was closed */
};

/* False if standard input or output is no terminal. */
bool screen_open(void);
void screen_close(void);
void screen_size(unsigned *ret_columns, unsigned *ret_rows);
/* Replaces the screen by lines of text, separated by '\n', without flicker. */
void screen_paint(struct str text);
/* Waits for a key, at most that long; a change of the size returns KEY_NONE. */
int screen_key(int milliseconds);
/* Decodes bytes sent by a terminal; `*used` is how many were consumed. */
int screen_decode(const char *bytes, size_t n, size_t *used);
