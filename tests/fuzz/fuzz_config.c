/*
 * A YAML file against a table with every kind of option.
 */
#include <stdlib.h>

#include "config/config.h"

struct item {
	const char *name;
	struct config_list list;
};

struct values {
	const char *text, *choice;
	struct config_list list;
	bool flag;
	int64_t number, duration;
	size_t size;
	double percent;
	struct config_map map;
	struct config_items items;
};

static const struct config_option item_options[] = {
	CONFIG_ROW("name", TEXT, struct item, name, .required = true),
	CONFIG_ROW("list", LIST, struct item, list),
	{0},
};
static const struct config_table item_table = {item_options, sizeof(struct item), NULL, 0};

static const struct config_option options[] = {
	CONFIG_ROW("text", TEXT, struct values, text),
	CONFIG_ROW("choice", CHOICE, struct values, choice, .choices = "a b"),
	CONFIG_ROW("list", LIST, struct values, list),
	CONFIG_ROW("a.flag", BOOL, struct values, flag),
	CONFIG_ROW("a.b.number", INT, struct values, number, .min = -5, .max = 5),
	CONFIG_ROW("a.b.duration", DURATION, struct values, duration),
	CONFIG_ROW("size", SIZE, struct values, size),
	CONFIG_ROW("percent", PERCENT, struct values, percent),
	CONFIG_ROW("map", MAP, struct values, map),
	CONFIG_ROW("items", ITEMS, struct values, items, .items = &item_table),
	{0},
};
static const struct config_table table = {options, sizeof(struct values), NULL, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct values *v)
{
	const struct item *items = v->items.v;

	if (v->number < -5 || v->number > 5 || v->duration < 0)
		abort();
	if (!(v->percent >= 0 && v->percent <= 1))
		abort();
	for (size_t i = 0; i < v->items.n; i++)
		if (!items[i].name)
			abort();
	for (size_t i = 0; i < v->map.n; i++)
		if (!v->map.v[i].name[0] || !v->map.v[i].value)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault fault = {0};
	struct values values = {0};
	struct config *c = NULL;
	enum err e = config_parse(str_n(data, size), "fuzz.yaml", &c, &fault);

	if (!e)
		e = config_read(c, &table, &values, &fault);
	if (!e)
		check(&values);
	else if (!fault.text[0] && e != ERR_NO_MEMORY)
		abort();
	config_free(c);
	return 0;
}
