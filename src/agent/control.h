/*
 * The agent's control socket, a stream socket accessible to this user only. A client sends one line
 * of words separated by tabs (or blanks) and gets an answer, after which the agent closes the
 * connection:
 *
 *	status			a JSON object
 *	targets			the targets, one per line; none = everything
 *	targets all		profile everything
 *	targets NAME=VALUE …	replace the targets (target_parse)
 *	rate HZ			samples per second and CPU, 1 to 5000
 *
 * A successful change answers "ok". An error begins with "error: ".
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define CONTROL_DEFAULT "/run/vestal/agent.sock"

/* The words of a request, each ended by a NUL; the answer is written to `to`. */
struct control_words {
	const char *v[300];
	size_t n;
};

/*
 * Binds the socket while the agent is still root, because its later user may not. control_open then
 * uses it, also after a reload.
 */
enum err control_prepare(const char *path, struct fault *fault) MUST_CHECK;

struct control_hooks {
	void *context;
	void (*obey)(void *context, const struct control_words *words, struct buf *to);
};

struct control;

/* Replaces a stale socket; any other file at the path is an error. */
enum err control_open(const char *path, const struct control_hooks *hooks, struct control **ret,
		      struct fault *fault) MUST_CHECK;
/* Removes the socket. */
void control_close(struct control *c);
/* Serves clients that connected since the last call; waits for each only briefly. */
void control_turn(struct control *c);
/* Splits a line in place. False: too many words, or none. */
bool control_split(char *line, struct control_words *ret);

/* The client side: sends the words and reads the answer. */
enum err control_ask(const char *path, const char *const *words, size_t n, struct buf *to,
		     struct fault *fault) MUST_CHECK;
