#include "sdk/control_settings.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/str.h"
#include "sdk/user_words.h"

#define KEEP_RATE 1000
#define KEEP_NS	  (10 * NS_PER_S)

/* ------------------------------------------------------------------ where to listen */

static bool is_loopback(const struct control_settings *c)
{
	return c->listen_address.any.sa_family == AF_INET6
		       ? IN6_IS_ADDR_LOOPBACK(&c->listen_address.v6.sin6_addr)
		       : ntohl(c->listen_address.v4.sin_addr.s_addr) >> 24 == 127;
}

/* "127.0.0.1:6060", "[::1]:6060", "localhost:6060", ":6060" */
static bool read_address(struct str text, struct control_settings *c)
{
	size_t colon = str_rfind(text, ':');
	struct str host = str_n(text.p, colon);
	char name[INET6_ADDRSTRLEN + 1];
	uint64_t port;

	if (colon == text.n || str_to_u64(str_skip(text, colon + 1), 10, &port) || !port ||
	    port > 65535)
		return false;
	if (!host.n || str_eq(host, STR("localhost")))
		host = STR("127.0.0.1");
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = str_n(host.p + 1, host.n - 2);
	if (host.n >= sizeof(name))
		return false;
	memcpy(name, host.p, host.n);
	name[host.n] = 0;
	if (inet_pton(AF_INET, name, &c->listen_address.v4.sin_addr) == 1) {
		c->listen_address.v4.sin_family = AF_INET;
		c->listen_address.v4.sin_port = htons((uint16_t)port);
		c->listen_size = sizeof(c->listen_address.v4);
		return true;
	}
	if (inet_pton(AF_INET6, name, &c->listen_address.v6.sin6_addr) != 1)
		return false;
	c->listen_address.v6.sin6_family = AF_INET6;
	c->listen_address.v6.sin6_port = htons((uint16_t)port);
	c->listen_size = sizeof(c->listen_address.v6);
	return true;
}

static enum err read_listen(const char *given, struct control_settings *c, struct fault *fault)
{
	struct str text = str_of(given ? given : word("VESTAL_LISTEN"));
	const char *anywhere = word("VESTAL_LISTEN_ANYWHERE");

	if (!text.n)
		return ERR_OK;
	if (text.n >= sizeof(c->listen) || !read_address(text, c))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%.60s is no address to listen on: 127.0.0.1:6060", text.p);
	c->listen_anywhere = anywhere && !strcmp(anywhere, "1");
	if (!c->listen_anywhere && !is_loopback(c))
		return fault_set(fault, ERR_NO_PERMISSION,
				 "%.60s can be reached by other machines, which could then read "
				 "and switch profiles: VESTAL_LISTEN_ANYWHERE=1 allows that",
				 text.p);
	c->listen_asked = given != NULL;
	memcpy(c->listen, text.p, text.n);
	return ERR_OK;
}

/* ------------------------------------------------------------------ switches */

static enum err read_switch(const char *variable, bool usual, bool *ret, struct fault *fault)
{
	const char *text = word(variable);

	*ret = usual;
	if (!text)
		return ERR_OK;
	*ret = !strcmp(text, "on") || !strcmp(text, "1") || !strcmp(text, "true");
	if (!*ret && strcmp(text, "off") != 0 && strcmp(text, "0") != 0 &&
	    strcmp(text, "false") != 0)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is on or off", variable);
	return ERR_OK;
}

static enum err read_signal(struct control_settings *c, struct fault *fault)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},    {"URG", SIGURG},
		     {"IO", SIGIO},	{"PWR", SIGPWR},   {"WINCH", SIGWINCH}};
	const char *text = word("VESTAL_SIGNAL");
	uint64_t number = 0;

	if (!text)
		return ERR_OK;
	if (!strncmp(text, "SIG", 3))
		text += 3;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i].name))
			number = (uint64_t)names[i].number;
	if (!number && !strncmp(text, "RTMIN+", 6) &&
	    str_to_u64(str_of(text + 6), 10, &number) == ERR_OK)
		number =
			number <= (uint64_t)(SIGRTMAX - SIGRTMIN) ? number + (uint64_t)SIGRTMIN : 0;
	if (!number)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_SIGNAL is the name of a signal such as USR2 or RTMIN+5");
	c->signal_number = (int)number;
	return ERR_OK;
}

/* ------------------------------------------------------------------ amounts */

/* "90%", "90", "0.5%": thousandths. */
static enum err read_permille(const char *variable, u32 most_percent, u32 *ret, struct fault *fault)
{
	struct str text = str_of(word(variable));
	double value;

	if (!text.n)
		return ERR_OK;
	if (str_ends(text, STR("%")))
		text.n--;
	if (str_to_double(text, &value) || !(value >= 0.1) || value > most_percent)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is a share from 0.1%% to %u%%",
				 variable, most_percent);
	*ret = (u32)(value * 10 + 0.5);
	return ERR_OK;
}

static enum err read_duration(const char *variable, s64 *ret, struct fault *fault)
{
	const char *text = word(variable);

	if (!text)
		return ERR_OK;
	if (duration_parse(str_of(text), ret, NULL) || *ret < NS_PER_MS || *ret > 86400 * NS_PER_S)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%s is a time such as 500ms or 10s, up to a day", variable);
	return ERR_OK;
}

/* "10s/5m": ten seconds of every five minutes. */
static enum err read_window(struct control_settings *c, struct fault *fault)
{
	struct str text = str_of(word("VESTAL_WINDOW")), length;

	if (!text.n)
		return ERR_OK;
	if (!str_split(&text, '/', &length) ||
	    duration_parse(str_trim(length), &c->window_ns, NULL) ||
	    duration_parse(str_trim(text), &c->every_ns, NULL) || c->window_ns < 100 * NS_PER_MS ||
	    c->every_ns < c->window_ns || c->every_ns > 7 * 86400 * NS_PER_S)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_WINDOW is how long and how often, such as 10s/5m");
	return ERR_OK;
}

static enum err read_conditions(struct control_settings *c, struct fault *fault)
{
	const char *rate = word("VESTAL_KEEP_RATE");
	uint64_t hz = KEEP_RATE;
	u32 permille = 0;

	c->keep_ns = KEEP_NS;
	TRY(read_duration("VESTAL_SLOW", &c->slow_ns, fault));
	TRY(read_permille("VESTAL_SLOW_CPU", 100, &permille, fault));
	c->cpu_percent = (permille + 9) / 10;
	TRY(read_switch("VESTAL_KEEP_FAILED", false, &c->keep_failed, fault));
	TRY(read_duration("VESTAL_KEEP", &c->keep_ns, fault));
	if (rate && (str_to_u64(str_of(rate), 10, &hz) || !hz || hz > 1000))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_KEEP_RATE is a number from 1 to 1000");
	c->keep_rate_hz = (u32)hz;
	return ERR_OK;
}

enum err control_settings_read(const char *listen, struct control_settings *ret,
			       struct fault *fault)
{
	u32 permille = 0;
	bool on;

	memset(ret, 0, sizeof(*ret));
	TRY(read_listen(listen, ret, fault));
	TRY(read_switch("VESTAL_PROFILING", true, &on, fault));
	ret->start_off = !on;
	TRY(read_signal(ret, fault));
	TRY(read_window(ret, fault));
	TRY(read_permille("VESTAL_LOAD_LIMIT", 100, &permille, fault));
	ret->load_percent = (permille + 9) / 10;
	TRY(read_permille("VESTAL_BUDGET", 100, &ret->budget_permille, fault));
	return read_conditions(ret, fault);
}

bool control_can_switch(const struct control_settings *c)
{
	return c->listen[0] || c->signal_number;
}

bool control_keeps(const struct control_settings *c)
{
	return c->slow_ns || c->cpu_percent || c->keep_failed;
}
