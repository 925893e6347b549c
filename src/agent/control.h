/*
 * The agent's control socket: a stream socket of this user alone. A client sends one line of words
 * with tabs (or blanks) between and gets an answer, after which the agent closes:
 *
 *	status			a JSON object
 *	targets			the targets, a line each; nothing = everything
 *	targets all		from now on everything
 *	targets NAME=VALUE …	from now on these (target_parse)
 *	rate HZ			samples a second and processor, 1 to 5000
 *
 * What changes something answers "ok". A refusal begins with "error: ".
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
 * For an agent that will not be root for long: binds the socket now, where its later user may not.
 * control_open then takes it, also when the settings were read again.
 */
enum err control_prepare(const char *path, struct fault *fault) MUST_CHECK;

struct control_hooks {
	void *context;
	void (*obey)(void *context, const struct control_words *words, struct buf *to);
};

struct control;

/* A socket that nobody listens at any more is replaced; anything else in its place is an error. */
enum err control_open(const char *path, const struct control_hooks *hooks, struct control **ret,
		      struct fault *fault) MUST_CHECK;
/* Removes the socket. */
void control_close(struct control *c);
/* Answers whoever asked since the last call; does not wait for anybody longer than a moment. */
void control_turn(struct control *c);
/* Splits a line in place. False: too many words, or none. */
bool control_split(char *line, struct control_words *ret);

/* The other side: sends the words and takes the answer. */
enum err control_ask(const char *path, const char *const *words, size_t n, struct buf *to,
		     struct fault *fault) MUST_CHECK;
