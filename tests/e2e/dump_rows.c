/*
 * Prints every row of a file as JSON lines, for tests that compare a reader with another program:
 *	{"types": ["samples/count", …], …}	one line a profile
 *	[[values], {labels}, time, [[name, line, kind, module], …]]	one line a row, leaf first
 * Arguments: the file, and the name of its format, or any other word to print nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"

static void put_json(struct str s)
{
	putchar('"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_labels(const struct dict *d, uint32_t set)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	putchar('{');
	for (uint32_t i = 0; i < n; i++) {
		struct buf value = BUF_INIT(1 << 20);

		label_value(d, &d->labels.v[items[i]], &value);
		printf("%s", i ? "," : "");
		put_json(dict_str(d, d->labels.v[items[i]].key));
		putchar(':');
		put_json(buf_view(&value));
		buf_release(&value);
	}
	putchar('}');
}

static void put_stack(const struct dict *d, uint32_t stack)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(d, stack, &n);

	putchar('[');
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = &d->frames.v[frames[i]];

		printf("%s[", i ? "," : "");
		put_json(frame_name(d, frames[i]));
		printf(",%" PRId64 ",", f->line);
		put_json(dict_str(d, f->kind));
		putchar(',');
		put_json(dict_str(d, d->mappings.v[f->mapping].file));
		putchar(']');
	}
	putchar(']');
}

static void put_profile(const struct profile *p)
{
	printf("{\"types\":[");
	for (uint32_t i = 0; i < p->type_count; i++) {
		printf("%s\"%s/%s\"", i ? "," : "", dict_str(p->dict, p->types[i].type).p,
		       dict_str(p->dict, p->types[i].unit).p);
	}
	printf("],\"rows\":%zu,\"period\":%" PRId64 ",\"time\":%" PRId64 ",\"duration\":%" PRId64
	       "}\n",
	       p->row_count, p->period, p->time_ns, p->duration_ns);
	for (size_t i = 0; i < p->row_count; i++) {
		struct row row = profile_row(p, i);

		printf("[[");
		for (uint32_t t = 0; t < p->type_count; t++)
			printf("%s%" PRId64, t ? "," : "", profile_values(p, i)[t]);
		printf("],");
		put_labels(p->dict, row.labels);
		printf(",%" PRIu64 ",", row.time);
		put_stack(p->dict, row.stack);
		printf("]\n");
	}
}

static bool slurp(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	char block[65536];
	size_t n;

	if (!f)
		return false;
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_append(out, block, n);
	fclose(f);
	return buf_error(out) == ERR_OK;
}

int main(int argc, char **argv)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT((size_t)1 << 30);
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	struct reading reading = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
	const struct format *format = argc > 2 ? format_by_name(str_of(argv[2])) : NULL;
	bool quiet = argc > 2 && !format;
	enum err e;

	if (argc < 2 || !slurp(argv[1], &bytes) || dict_init(&d, 1) != ERR_OK)
		return 2;
	e = format_read(buf_view(&bytes), format, &reading, NULL);
	for (size_t i = 0; i < reading.notes.list.n; i++)
		fprintf(stderr, "note: %s (%" PRIu64 ")\n", reading.notes.list.v[i].text,
			reading.notes.list.v[i].count);
	notes_release(&reading.notes);
	if (e)
		fprintf(stderr, "%s\n", reading.fault.text);
	for (size_t i = 0; !e && !quiet && i < list.n; i++)
		put_profile(list.v[i]);
	return e ? 1 : 0;
}
