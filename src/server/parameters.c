#include "server/parameters.h"

#include "base/clock.h"
#include "query/query.h"

#define MAX_LIST 64

struct str parameter(struct request *r, const char *name)
{
	return http_param(r->x, str_of(name));
}

enum err parameter_int(struct request *r, const char *name, int64_t fallback, int64_t *ret,
		       struct fault *fault)
{
	struct str text = parameter(r, name);

	*ret = fallback;
	if (!text.n || str_to_i64(text, ret) == ERR_OK)
		return ERR_OK;
	return fault_set(fault, ERR_BAD_ARGUMENT, "%s=%.*s is no whole number", name,
			 (int)(text.n < 60 ? text.n : 60), text.p);
}

enum err parameter_count(struct request *r, const char *name, uint32_t fallback, uint32_t least,
			 uint32_t most, uint32_t *ret, struct fault *fault)
{
	int64_t value;

	TRY(parameter_int(r, name, fallback, &value, fault));
	if (value < least || value > most)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is %u to %u", name, least, most);
	*ret = (uint32_t)value;
	return ERR_OK;
}

enum err parameter_duration(struct request *r, const char *name, int64_t fallback, int64_t *ret,
			    struct fault *fault)
{
	struct str text = parameter(r, name);

	*ret = fallback;
	return text.n ? duration_parse(text, ret, fault) : ERR_OK;
}

bool parameter_flag(struct request *r, const char *name)
{
	struct str text = parameter(r, name);

	return text.p && !str_eq(text, STR("false")) && !str_eq(text, STR("0")) &&
	       !str_eq(text, STR("no"));
}

enum err parameter_range(struct request *r, const char *from, const char *until, int64_t *ret_from,
			 int64_t *ret_until, struct fault *fault)
{
	struct str from_text = parameter(r, from), until_text = parameter(r, until);
	int64_t now = clock_wall_ns();

	*ret_until = now;
	*ret_from = now - 3600 * NS_PER_S;
	if (until_text.n)
		TRY(when_parse(until_text, now, ret_until, fault));
	if (from_text.n)
		TRY(when_parse(from_text, now, ret_from, fault));
	/* Before 1970 there is nothing; so no difference of times overflows. */
	if (*ret_from < 0)
		*ret_from = 0;
	if (*ret_until < 0)
		*ret_until = 0;
	return ERR_OK;
}

struct collect {
	struct str name;
	struct str *list;
	size_t n;
	struct fault *fault;
};

static enum err collect(void *context, struct str name, struct str value)
{
	struct collect *c = context;
	struct str part;

	if (!str_eq(name, c->name))
		return ERR_OK;
	while (str_split(&value, ',', &part)) {
		if (!str_trim(part).n)
			continue;
		if (c->n == MAX_LIST)
			return fault_set(c->fault, ERR_BAD_ARGUMENT, "more than %d times %.*s",
					 MAX_LIST, (int)name.n, name.p);
		c->list[c->n++] = str_trim(part);
	}
	return ERR_OK;
}

enum err parameter_list(struct request *r, const char *name, struct str **ret, size_t *ret_n,
			struct fault *fault)
{
	struct collect c = {.name = str_of(name),
			    .fault = fault,
			    .list = arena_zalloc(&r->x->arena, MAX_LIST, sizeof(struct str))};

	if (!c.list)
		return ERR_NO_MEMORY;
	TRY(http_params(r->x, r->x->query, collect, &c));
	*ret = c.list;
	*ret_n = c.n;
	return ERR_OK;
}
