/*
 * What of the settings is about control: who may switch sampling, and what switches it by itself.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

struct control_settings {
	char listen[96]; /* as it was said; empty = no HTTP */
	bool listen_anywhere;
	bool listen_asked; /* by the program itself: that it fails is an error */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} listen_address;
	socklen_t listen_size;
	bool start_off;
	int signal_number;	 /* switches on and off; 0 = none */
	s64 window_ns, every_ns; /* samples for so long, so often; 0 = always */
	u32 load_percent;	 /* of the machine, above which nothing is sampled; 0 = never */
	u32 budget_permille;	 /* of the program's CPU time; 0 = as much as it takes */
	/* Spans whose samples are kept at a high rate. */
	s64 slow_ns;	 /* as long as this; 0 = not for that */
	u32 cpu_percent; /* of a processor; 0 = not for that */
	bool keep_failed;
	u32 keep_rate_hz;
	s64 keep_ns; /* how long samples wait for the end of their span */
};

/* `listen` is the program's own word, or NULL. */
enum err control_settings_read(const char *listen, struct control_settings *ret,
			       struct fault *fault) MUST_CHECK;
/* Whether somebody may switch sampling on later. */
bool control_can_switch(const struct control_settings *c);
/* Whether samples wait for the end of their span. */
bool control_keeps(const struct control_settings *c);
