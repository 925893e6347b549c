/*
 * Settings of control: switching sampling manually and automatically.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

struct control_settings {
	char listen[96]; /* as given; empty = no HTTP */
	bool listen_anywhere;
	bool listen_asked; /* set by the program: a failure is an error */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} listen_address;
	socklen_t listen_size;
	bool start_off;
	int signal_number;	 /* signal that toggles sampling; 0 = none */
	s64 window_ns, every_ns; /* duration and interval of the schedule; 0 = always on */
	u32 load_percent;	 /* load of the machine above which sampling pauses; 0 = never */
	u32 budget_permille;	 /* share of the program's CPU time; 0 = no limit */
	/* Spans that keep their samples at a high rate. */
	s64 slow_ns;	 /* minimum duration; 0 = off */
	u32 cpu_percent; /* minimum share of a CPU; 0 = off */
	bool keep_failed;
	u32 keep_rate_hz;
	s64 keep_ns; /* how long samples are held until their span ends */
};

/* `listen` is the program's option, or NULL. */
enum err control_settings_read(const char *listen, struct control_settings *ret,
			       struct fault *fault) MUST_CHECK;
/* Whether sampling can be switched on later. */
bool control_can_switch(const struct control_settings *c);
/* Whether samples are held until their span ends. */
bool control_keeps(const struct control_settings *c);
