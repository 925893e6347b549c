#include "cli/stored.h"

#include <unistd.h>

#include "base/jsonout.h"
#include "net/net.h"

bool stored_is_elsewhere(const char *name)
{
	return strcmp(name, "-") == 0 || fetch_is_url(str_of(name)) || access(name, F_OK) == 0;
}

bool stored_is_selector(const char *name)
{
	return strchr(name, '{') && !stored_is_elsewhere(name);
}

bool stored_may_be_service(const char *name)
{
	return name[0] && !strpbrk(name, "/.:{}\\") && !stored_is_elsewhere(name);
}

const char *stored_selector(const char *name, struct arena *arena)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

	if (strchr(name, '{'))
		return name;
	buf_text(&text, "{service_name=");
	json_quote(&text, str_of(name));
	buf_byte(&text, '}');
	if (text.error)
		return NULL;
	return strpbrk(name, " \t\"'`,=!~()") ? arena_copy(arena, buf_view(&text))
					      : arena_printf(arena, "%s{}", name);
}

void stored_window(const struct input_options *o, struct call *c)
{
	call_param_text(c, "from", o->since);
	call_param_text(c, "until", o->until);
	if (o->time_range || (!o->since && !o->until))
		call_param_text(c, "time_range", o->time_range ? o->time_range : "1h");
}

int stored_fetch(const struct input_options *o, const char *selector, const char *type,
		 struct buf *ret)
{
	CLEANUP(call_release) struct call c;
	struct client_options client = o->client;
	struct client_failure failure;

	if (o->timeout > 0)
		client.timeout = o->timeout;
	client.insecure |= o->insecure;
	call_init(&c, &client, "/api/v1/export");
	call_param_text(&c, "format", "pprof");
	call_param_text(&c, "query", selector);
	call_param_text(&c, "type", type);
	stored_window(o, &c);
	if (client_ask(&c, NULL, ret, &failure) == ERR_OK)
		return EXIT_OK;
	return complain(failure.status, "%s: %s", selector, failure.fault.text);
}
