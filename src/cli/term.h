/*
 * The terminal: whether there is one, its width, colours, and the progress line on stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool term_is(int fd);
/* Columns of the terminal at `fd`; 0 if it is no terminal (then nothing is cut). */
unsigned term_width(int fd);
/* `when` is auto, always, never or NULL (auto). NO_COLOR and TERM=dumb mean no. */
bool term_color(int fd, const char *when);

#define COLOR_RESET  "\033[0m"
#define COLOR_BOLD   "\033[1m"
#define COLOR_DIM    "\033[2m"
#define COLOR_RED    "\033[31m"
#define COLOR_GREEN  "\033[32m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_BLUE   "\033[34m"
#define COLOR_CYAN   "\033[36m"

/*
 * Progress, if stderr is a terminal: nothing for the first second, then a bar (if the total is
 * known) or a count. One at a time.
 */
enum progress_unit { PROGRESS_BYTES, PROGRESS_FILES, PROGRESS_SECONDS };
void progress_begin(const char *what, enum progress_unit unit, uint64_t total, bool quiet);
void progress_update(uint64_t done);
bool progress_is_active(void);
/* Removes the line. */
void progress_end(void);
/* Removes the line, so that a message can be printed; it comes back with the next update. */
void term_clear_progress(void);
/* The same, async-signal-safe. */
void term_abort(void);
