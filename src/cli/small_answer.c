#include "cli/small_answer.h"

#include <stdio.h>

#include "cli/command.h"
#include "cli/sink.h"

static void take(struct json *j, struct answer_field *field)
{
	struct json_number n = {0};
	bool yes = false;
	struct str text;

	if (json_peek(j) == JSON_NUMBER && json_number(j, &n)) {
		field->value = n.kind == JSON_I64   ? n.i
			       : n.kind == JSON_U64 ? INT64_MAX
						    : (int64_t)n.d;
	} else if (json_peek(j) == JSON_BOOL && json_bool(j, &yes)) {
		field->value = yes;
	} else if (json_peek(j) == JSON_STRING && json_string(j, &text)) {
		snprintf(field->text, sizeof(field->text), "%.*s", (int)text.n, text.p);
	} else {
		json_skip(j);
	}
}

int answer_read(struct json *j, const struct reading *r)
{
	enum err e = j->error;

	json_release(j);
	if (e)
		return complain(EXIT_UNAVAILABLE, "the answer is not understood: %s",
				r->fault.text[0] ? r->fault.text : err_text(e));
	return EXIT_OK;
}

int answer_fields(const struct buf *answer, struct answer_field *fields)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct json j;
	struct str key;

	json_init(&j, buf_view(answer), "answer", 16, &r);
	if (json_object(&j))
		while (json_key(&j, &key)) {
			struct answer_field *f = fields;

			while (f->key && !str_eq(key, str_of(f->key)))
				f++;
			if (f->key)
				take(&j, f);
			else
				json_skip(&j);
		}
	return answer_read(&j, &r);
}

int answer_number(const struct buf *answer, const char *key, int64_t *ret)
{
	struct answer_field fields[] = {{.key = key}, {0}};
	int status = answer_fields(answer, fields);

	*ret = fields[0].value;
	return status;
}

int answer_print(struct buf *answer)
{
	buf_byte(answer, '\n');
	return sink_stdout(answer);
}
